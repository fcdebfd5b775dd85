/*
 * parcel_desk: two clerks wait for parcels on a belt and are woken together.
 *
 * Written for this corpus, after the queues with std::condition_variable that many programs write.
 *
 * Bug (missed recheck): a clerk tests with `if` whether the belt is empty. Fails when both clerks
 * wait, the first parcel wakes both, and the one that comes second finds the belt empty again: the
 * queue's two ends, not a count, say so.
 */
#include <cassert>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

class Belt {
public:
	void put(int parcel)
	{
		std::lock_guard<std::mutex> guard(lock);
		parcels.push_back(parcel);
		arrived.notify_all();
	}

	int take()
	{
		std::unique_lock<std::mutex> guard(lock);
		if (parcels.empty())
			arrived.wait(guard);
		assert(!parcels.empty());
		int parcel = parcels.front();
		parcels.pop_front();
		return parcel;
	}

private:
	std::mutex lock;
	std::condition_variable arrived;
	std::deque<int> parcels;
};

int main()
{
	Belt belt;
	int taken[2] = {0, 0};

	std::thread first([&] { taken[0] = belt.take(); });
	std::thread second([&] { taken[1] = belt.take(); });
	belt.put(3);
	belt.put(4);
	first.join();
	second.join();
	std::printf("weight %d\n", taken[0] + taken[1]);
	return 0;
}
