/*
 * The fixed twin of limit_ready.cpp: the settings are ready when the limit is written.
 */
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

class Settings {
public:
	void load()
	{
		set_limit(10);
		{
			std::lock_guard<std::mutex> guard(mutex);
			ready = true;
		}
		loaded.notify_all();
	}

	int wait_for_limit()
	{
		std::unique_lock<std::mutex> lock(mutex);
		while (!ready)
			loaded.wait(lock);
		uses++;
		return limit;
	}

private:
	void set_limit(int value)
	{
		std::lock_guard<std::mutex> guard(mutex);
		limit = value;
	}

	std::mutex mutex;
	std::condition_variable loaded;
	bool ready = false;
	int limit = 0;
	int uses = 0;
};

static Settings settings;

static void worker(int *share)
{
	int limit = settings.wait_for_limit();

	assert(limit > 0);
	*share = limit / 4;
}

int main()
{
	static int shares[4];
	std::vector<std::thread> workers;

	for (int &share : shares)
		workers.emplace_back(worker, &share);
	settings.load();
	for (std::thread &thread : workers)
		thread.join();
	assert(shares[0] + shares[3] == 4);
	return 0;
}
