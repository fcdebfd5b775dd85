/*
 * cpp_wait_for_status: a thread waits for a letter, for at most 50 ms.
 *
 * Written for this corpus: std::condition_variable::wait_for.
 *
 * Bug: the letter is looked for before the wait and a time-out is told apart, but any
 * other return is taken for the letter. The standard lets the wait return for no reason.
 * Natively: 0 of 200 runs.
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
	if (letters == 0 && arrived.wait_for(guard, std::chrono::milliseconds(50)) == std::cv_status::timeout)
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
