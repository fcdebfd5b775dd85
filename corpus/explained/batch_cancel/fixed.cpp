/*
 * The fixed twin of batch_cancel.cpp: a guard unlocks the mutex however the loop is left.
 */
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

class Batch {
public:
	void process(int items)
	{
		for (int i = 0; i < items; i++) {
			std::lock_guard<std::mutex> guard(progress_lock);
			if (cancelled)
				break;
			done++;
		}
		finished.fetch_add(1);
	}

	void cancel()
	{
		std::lock_guard<std::mutex> guard(progress_lock);
		cancelled = true;
	}

	int progress()
	{
		std::lock_guard<std::mutex> guard(progress_lock);
		return done;
	}

	std::atomic<int> finished{0};

private:
	std::mutex progress_lock;
	bool cancelled = false;
	int done = 0;
};

static Batch batch;

int main()
{
	std::thread first([] { batch.process(2); });
	std::thread second([] { batch.process(1); });
	std::thread user([] { batch.cancel(); });

	first.join();
	second.join();
	user.join();
	assert(batch.finished == 2);
	assert(batch.progress() <= 3);
	return 0;
}
