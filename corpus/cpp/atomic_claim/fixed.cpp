/*
 * The fixed twin of atomic_claim.cpp: the flag is tested and set at once.
 */
#include <array>
#include <atomic>
#include <cassert>
#include <thread>

struct Job {
	std::atomic<bool> claimed{false};
	std::atomic<int> done{0};
};

static std::array<Job, 2> jobs;

static void work()
{
	for (Job &job : jobs) {
		if (!job.claimed.exchange(true))
			job.done++;
	}
}

int main()
{
	std::thread first(work);
	std::thread second(work);
	first.join();
	second.join();
	for (const Job &job : jobs)
		assert(job.done == 1);
	return 0;
}
