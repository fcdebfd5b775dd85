/*
 * cpp_try_lock: a cache is filled once. Who gets the lock fills it; who does not waits until it
 * is filled.
 *
 * Written for this corpus: [thread.mutex.requirements.mutex].
 *
 * Bug: std::mutex::try_lock may fail although nobody holds the mutex. The first thread then
 * waits for one that does not exist.
 * Natively: 0 of 200 runs; libstdc++'s does not fail so.
 */
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex filling;
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
	if (filling.try_lock())
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
