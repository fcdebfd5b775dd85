/*
 * The fixed twin of cpp_wait_for_status.cpp: wait_for is given what to wait for.
 */
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable arrived;
static int letters;

static void receive()
{
	std::unique_lock<std::mutex> guard(lock);
	if (!arrived.wait_for(guard, std::chrono::milliseconds(50), [] { return letters > 0; }))
		return;
	assert(letters > 0);
	letters--;
}

static void send()
{
	std::lock_guard<std::mutex> guard(lock);
	letters++;
	arrived.notify_one();
}

int main()
{
	std::thread receiver(receive);
	std::thread sender(send);
	receiver.join();
	sender.join();
	return 0;
}
