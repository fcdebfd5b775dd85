/*
 * nested_wait: producers put items into a queue, a consumer takes a batch of them. How many
 * items are a batch is a setting with a lock of its own.
 *
 * Written for this corpus.
 *
 * Bug (waits with a lock): the consumer keeps the settings locked while it waits for items;
 * the wait releases the lock of the queue only. Fails when it waits before the producers have
 * read their settings: they need that lock to produce anything.
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
	std::lock_guard<std::mutex> guard(settings.settings_lock);
	std::unique_lock<std::mutex> lock(queue.queue_lock);

	while (queue.items < settings.batch)
		queue.filled.wait(lock);
	queue.items -= settings.batch;
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
