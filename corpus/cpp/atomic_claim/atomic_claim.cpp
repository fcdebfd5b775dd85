/*
 * atomic_claim: several workers look for jobs that nobody has claimed yet.
 *
 * Modelled on job tables of thread pools, where a flag of each job tells whether
 * somebody works on it. The flag is a std::atomic<bool>, the claim is not atomic.
 *
 * Bug (assertion): two workers see the flag of a job unset, both set it, and the
 * job is done twice.
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
		if (!job.claimed.load()) {
			job.claimed.store(true);
			job.done++;
		}
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
