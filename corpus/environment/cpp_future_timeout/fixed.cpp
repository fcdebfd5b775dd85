/*
 * The fixed twin of cpp_future_timeout.cpp: the number is the value of the future, and
 * get() waits for it.
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
	assert(done.get() == 42);
	task.join();
	return 0;
}
