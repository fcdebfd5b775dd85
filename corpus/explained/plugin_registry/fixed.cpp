/*
 * The fixed twin of plugin_registry.cpp: a lock is held from the look for a registry until
 * it is there.
 */
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

static constexpr int plugins = 4;

class Registry {
public:
	static Registry *instance()
	{
		std::lock_guard<std::mutex> guard(making);
		Registry *found = single.load();
		if (found == nullptr) {
			found = new Registry;
			single.store(found);
		}
		return found;
	}

	void add(int plugin)
	{
		std::lock_guard<std::mutex> guard(mutex);
		entries[count++] = plugin;
	}

	int size()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return count;
	}

private:
	static std::atomic<Registry *> single;
	static std::mutex making;

	std::mutex mutex;
	int entries[plugins] = {};
	int count = 0;
};

std::atomic<Registry *> Registry::single{nullptr};
std::mutex Registry::making;

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < plugins; i++)
		threads.emplace_back([i] { Registry::instance()->add(i); });
	for (std::thread &thread : threads)
		thread.join();
	assert(Registry::instance()->size() == plugins);
	delete Registry::instance();
	return 0;
}
