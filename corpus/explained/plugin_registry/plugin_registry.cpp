/*
 * plugin_registry: plug-ins register themselves, each from its own thread, in a registry
 * that is made when it is asked for first.
 *
 * Written for this corpus.
 *
 * Bug (check then act): two threads find that there is no registry, and both make one. The
 * second one replaces the first, and what was registered in the first is gone.
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

	std::mutex mutex;
	int entries[plugins] = {};
	int count = 0;
};

std::atomic<Registry *> Registry::single{nullptr};

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
