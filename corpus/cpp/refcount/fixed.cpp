/*
 * The fixed twin of refcount.cpp: a pointer has a mutex, held while it is read
 * and the reference counted, and while it is replaced.
 */
#include <atomic>
#include <cassert>
#include <memory>
#include <mutex>
#include <thread>

struct Config {
	explicit Config(int version) : version(version) {}

	const int version;
	std::atomic<int> refs{1};
};

/* A counted pointer to a Config, much like std::shared_ptr. */
class ConfigPtr {
public:
	explicit ConfigPtr(Config *adopted) : config(adopted) {}

	ConfigPtr(const ConfigPtr &other)
	{
		std::lock_guard<std::mutex> guard(other.mutex);
		Config *found = other.config;
		found->refs.fetch_add(1);
		config = found;
	}

	ConfigPtr &operator=(const ConfigPtr &) = delete;

	~ConfigPtr()
	{
		release(config);
	}

	/* Takes over the reference that the caller has to `adopted`. */
	void reset(Config *adopted)
	{
		std::unique_lock<std::mutex> guard(mutex);
		Config *old = config;
		config = adopted;
		guard.unlock();
		release(old);
	}

	const Config *operator->() const
	{
		return config;
	}

private:
	static void release(Config *c)
	{
		if (c->refs.fetch_sub(1) == 1)
			delete c;
	}

	mutable std::mutex mutex; /* guards reading the pointer and counting */
	std::atomic<Config *> config;
};

static ConfigPtr current(new Config(1));
static std::unique_ptr<ConfigPtr> served; /* what the request answered with */

static void request()
{
	served = std::make_unique<ConfigPtr>(current);
	int version = (*served)->version;
	assert(version == 1 || version == 2);
}

static void administrator()
{
	current.reset(new Config(2));
}

int main()
{
	std::thread client(request);
	std::thread admin(administrator);
	client.join();
	admin.join();
	served.reset();
	return 0;
}
