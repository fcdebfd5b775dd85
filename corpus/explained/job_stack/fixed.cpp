/*
 * The fixed twin of job_stack.cpp: one member function looks for a job and takes it.
 */
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

class JobStack {
public:
	void push(int job)
	{
		std::lock_guard<std::mutex> guard(mutex);
		jobs[count] = job;
		count++;
	}

	bool pop(int &job)
	{
		std::lock_guard<std::mutex> guard(mutex);
		if (count == 0)
			return false;
		count--;
		job = jobs[count];
		return true;
	}

private:
	std::mutex mutex;
	int jobs[8] = {};
	int count = 0;
};

static JobStack stack;
static std::atomic<int> result{0};

static void worker()
{
	int job;

	while (stack.pop(job))
		result.fetch_add(job * job);
}

int main()
{
	std::vector<std::thread> workers;

	for (int job = 1; job <= 3; job++)
		stack.push(job);
	for (int i = 0; i < 4; i++)
		workers.emplace_back(worker);
	for (std::thread &thread : workers)
		thread.join();
	assert(result == 14);
	return 0;
}
