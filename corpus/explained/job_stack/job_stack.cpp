/*
 * job_stack: workers take jobs from a stack until there are no more.
 *
 * Written for this corpus.
 *
 * Bug (check then act): both member functions lock, but a worker asks for the size and then
 * pops in a second call. Fails when another one pops the last job in between.
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

	int size()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return count;
	}

	int pop()
	{
		std::lock_guard<std::mutex> guard(mutex);
		assert(count > 0);
		count--;
		return jobs[count];
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
	while (stack.size() > 0) {
		int job = stack.pop();
		result.fetch_add(job * job);
	}
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
