/*
 * The fixed twin of lease_pool.cpp: wait() looks again after each wake-up.
 */
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
public:
	void lease()
	{
		std::unique_lock<std::mutex> lock(mutex);
		returned.wait(lock, [this] { return available > 0; });
		available--;
		assert(available >= 0);
	}

	void give_back()
	{
		{
			std::lock_guard<std::mutex> guard(mutex);
			available++;
		}
		returned.notify_one();
	}

private:
	std::mutex mutex;
	std::condition_variable returned;
	int available = 1;
};

static Pool pool;
static std::atomic<int> queries{0};

static void client()
{
	pool.lease();
	queries.fetch_add(1);
	pool.give_back();
}

int main()
{
	std::vector<std::thread> clients;

	for (int i = 0; i < 4; i++)
		clients.emplace_back(client);
	for (std::thread &thread : clients)
		thread.join();
	std::printf("%d queries\n", queries.load());
	return 0;
}
