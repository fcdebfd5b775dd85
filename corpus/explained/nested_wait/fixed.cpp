/*
 * The fixed twin of nested_wait.cpp: the consumer copies its setting and waits without the
 * lock of the settings.
 */
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

struct Settings {
	std::mutex settings_lock;
	int batch = 2;
	int step = 1;
};

struct Queue {
	std::mutex queue_lock;
	std::condition_variable filled;
	int items = 0;
};

static Settings settings;
static Queue queue;

static void produce()
{
	int step;

	{
		std::lock_guard<std::mutex> guard(settings.settings_lock);
		step = settings.step;
	}
	{
		std::lock_guard<std::mutex> guard(queue.queue_lock);
		queue.items += step;
	}
	queue.filled.notify_one();
}

static void consume()
{
	int batch;

	{
		std::lock_guard<std::mutex> guard(settings.settings_lock);
		batch = settings.batch;
	}
	std::unique_lock<std::mutex> lock(queue.queue_lock);

	while (queue.items < batch)
		queue.filled.wait(lock);
	queue.items -= batch;
}

int main()
{
	std::thread consumer(consume);
	std::thread first(produce);
	std::thread second(produce);

	first.join();
	second.join();
	consumer.join();
	assert(queue.items == 0);
	return 0;
}
