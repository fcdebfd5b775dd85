/*
 * bakery: three customers of a bakery draw numbers, and the lowest one is served first.
 *
 * Written for this corpus, after Lamport's bakery algorithm.
 *
 * Bug (broken lock): a customer looks at all numbers and takes a higher one; that he is about
 * to, nobody sees. Fails when another one takes the same number meanwhile and is served, and
 * the first one, who wins the tie, is served at the same time.
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

		for (int i = 0; i < customers; i++) {
			int theirs = number[i];
			if (theirs > highest)
				highest = theirs;
		}
		number[me] = highest + 1;
		for (int i = 0; i < customers; i++)
			while (i != me && before(i, me))
				std::this_thread::yield();
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
