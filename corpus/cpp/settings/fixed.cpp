/*
 * settings, fixed: who copies or assigns the shared_ptr holds a lock.
 */
#include <memory>
#include <mutex>
#include <thread>

struct Settings {
	int volume;
};

static std::mutex lock;
static std::shared_ptr<Settings> in_use = std::make_shared<Settings>(Settings{1});

static std::shared_ptr<Settings> current()
{
	std::lock_guard<std::mutex> guard(lock);
	return in_use;
}

static void reader()
{
	std::shared_ptr<Settings> mine = current();
	volatile int volume = mine->volume;
	(void)volume;
}

static void editor()
{
	auto edited = std::make_shared<Settings>(Settings{2});
	std::lock_guard<std::mutex> guard(lock);
	in_use = edited;
}

int main()
{
	std::thread reads(reader);
	std::thread edits(editor);
	reads.join();
	edits.join();
	return 0;
}
