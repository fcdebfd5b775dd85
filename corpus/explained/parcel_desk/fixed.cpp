/*
 * parcel_desk: two clerks wait for parcels on a belt and are woken together.
 *
 * Written for this corpus, after the queues with std::condition_variable that many programs write.
 *
 * The twin: a clerk tests again after each wake-up.
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
		while (parcels.empty())
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
