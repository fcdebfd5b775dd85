/*
 * refcount: a server keeps its configuration in a reference-counted pointer;
 * requests copy it while the administrator installs a new one.
 *
 * Modelled on the textbook misuse of std::shared_ptr: the count is atomic, the
 * pointer itself is not. Copying a shared_ptr while another thread assigns to
 * the same one is a race.
 *
 * Bug (use after free): a request reads the pointer; the administrator replaces
 * it, drops the last reference and deletes the configuration; the request
 * increments the count of what is gone.
 */
#include <atomic>
#include <cassert>
#include <memory>
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
		Config *old = config;
		config = adopted;
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
