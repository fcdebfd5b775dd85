/*
 * lease_pool: four clients share a pool of one connection: each leases it, uses it and gives
 * it back.
 *
 * Written for this corpus.
 *
 * Bug (missed recheck): a client that waited takes for granted that a connection is free when
 * it is woken. Fails when another client comes along and leases it first.
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
		if (available == 0)
			returned.wait(lock);
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
