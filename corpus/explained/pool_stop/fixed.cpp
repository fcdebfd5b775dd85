/*
 * The fixed twin of pool_stop.cpp: the pool is stopped under the lock, and a worker looks
 * under the lock whether it is.
 */
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
public:
	Pool()
	{
		for (int i = 0; i < 4; i++)
			workers.emplace_back([this] { work(); });
	}

	void submit()
	{
		std::lock_guard<std::mutex> guard(mutex);
		jobs++;
		wake.notify_one();
	}

	int stop()
	{
		{
			std::lock_guard<std::mutex> guard(mutex);
			stopping.store(true);
		}
		wake.notify_all();
		for (std::thread &worker : workers)
			worker.join();
		return handled;
	}

private:
	void work()
	{
		while (!stopping.load()) {
			std::unique_lock<std::mutex> lock(mutex);
			while (jobs == 0 && !stopping.load())
				wake.wait(lock);
			if (jobs > 0) {
				jobs--;
				handled++;
			}
		}
	}

	std::mutex mutex;
	std::condition_variable wake;
	std::atomic<bool> stopping{false};
	int jobs = 0;
	int handled = 0;
	std::vector<std::thread> workers;
};

int main()
{
	Pool pool;

	pool.submit();
	pool.submit();
	std::printf("%d jobs handled\n", pool.stop());
	return 0;
}
