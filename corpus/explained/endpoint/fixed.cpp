/*
 * The fixed twin of endpoint.cpp: one call gives both host and port.
 */
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
#include <utility>
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

	std::pair<int, int> get_endpoint()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return {host, port};
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
	std::pair<int, int> endpoint = config.get_endpoint();

	connect(endpoint.first, endpoint.second);
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
