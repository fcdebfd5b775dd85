/*
 * The fixed twin of bakery.cpp: who is choosing a number says so, and the others wait.
 */
#include <atomic>
#include <cassert>
#include <thread>
#include <vector>

static constexpr int customers = 3;

class BakeryLock {
public:
	void lock(int me)
	{
		int highest = 0;

		choosing[me] = true;
		for (int i = 0; i < customers; i++) {
			int theirs = number[i];
			if (theirs > highest)
				highest = theirs;
		}
		number[me] = highest + 1;
		choosing[me] = false;
		for (int i = 0; i < customers; i++) {
			while (choosing[i])
				std::this_thread::yield();
			while (i != me && before(i, me))
				std::this_thread::yield();
		}
	}

	void unlock(int me)
	{
		number[me] = 0;
	}

private:
	bool before(int other, int me) const
	{
		int theirs = number[other];
		int mine = number[me];

		return theirs != 0 && (theirs < mine || (theirs == mine && other < me));
	}

	std::atomic<int> number[customers] = {};
	std::atomic<bool> choosing[customers] = {};
};

static BakeryLock queue;
static int loaves = customers;

static void customer(int me)
{
	queue.lock(me);
	int left = loaves;
	loaves = left - 1;
	queue.unlock(me);
}

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < customers; i++)
		threads.emplace_back(customer, i);
	for (std::thread &thread : threads)
		thread.join();
	assert(loaves == 0);
	return 0;
}
