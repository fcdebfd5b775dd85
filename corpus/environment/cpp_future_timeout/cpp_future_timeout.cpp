/*
 * cpp_future_timeout: a thread computes a number and fulfils a promise; main waits for the
 * future for at most a second.
 *
 * Written for this corpus: std::future::wait_for.
 *
 * Bug (order violation): main reads the number after wait_for without asking whether the
 * future was ready. The task has nothing to wait for, so a second has to pass while it
 * could run.
 * Natively: 0 of 200 runs.
 */
#include <atomic>
#include <cassert>
#include <chrono>
#include <future>
#include <thread>

static std::atomic<int> number;

int main()
{
	std::promise<int> promise;
	std::future<int> done = promise.get_future();
	std::thread task([&promise] {
		number = 42;
		promise.set_value(number);
	});
	done.wait_for(std::chrono::seconds(1));
	assert(number == 42);
	task.join();
	return 0;
}
