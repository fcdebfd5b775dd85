/*
 * The fixed twin of cpp_try_lock.cpp: an atomic exchange says who fills the cache.
 */
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::atomic<bool> filling;
static std::mutex lock;
static std::condition_variable changed;
static int value;

static void fill()
{
	std::lock_guard<std::mutex> guard(lock);
	value = 42;
	changed.notify_all();
}

static void use()
{
	if (!filling.exchange(true))
		fill();
	std::unique_lock<std::mutex> guard(lock);
	changed.wait(guard, [] { return value != 0; });
	assert(value == 42);
}

int main()
{
	std::thread user(use);
	user.join();
	return 0;
}
