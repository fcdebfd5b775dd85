/*
 * endpoint: clients connect to the server that the configuration names; the configuration
 * is reloaded meanwhile.
 *
 * Written for this corpus.
 *
 * Bug (torn read): every member function locks, but a client asks for host and port by two
 * calls. Fails when the configuration is reloaded in between: it connects to the new port of
 * the old host.
 */
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

class Config {
public:
	void reload(int new_host, int new_port)
	{
		std::lock_guard<std::mutex> guard(mutex);
		host = new_host;
		port = new_port;
		version++;
	}

	int get_host()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return host;
	}

	int get_port()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return port;
	}

private:
	std::mutex mutex;
	int version = 1;
	int host = 1;
	int port = 8001;
};

static Config config;
static std::atomic<int> connections{0};

static void connect(int host, int port)
{
	assert(port == 8000 + host);
	connections++;
}

static void client()
{
	int host = config.get_host();
	int port = config.get_port();

	connect(host, port);
}

int main()
{
	std::vector<std::thread> clients;

	for (int i = 0; i < 3; i++)
		clients.emplace_back(client);
	std::thread admin([] { config.reload(2, 8002); });
	for (std::thread &thread : clients)
		thread.join();
	admin.join();
	assert(connections == 3);
	return 0;
}
