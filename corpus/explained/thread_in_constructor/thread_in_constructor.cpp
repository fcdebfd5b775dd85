/*
 * thread_in_constructor: a device reads from its bus in a thread of its own, which its
 * constructor starts.
 *
 * Written for this corpus.
 *
 * Bug (use before it is there): the constructor starts the thread before it has set the bus.
 * Fails when the thread asks for the bus first.
 */
#include <cassert>
#include <mutex>
#include <thread>

class Bus {
public:
	int read()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return ++transfers;
	}

private:
	std::mutex mutex;
	int transfers = 0;
};

class Device {
public:
	explicit Device(Bus *its_bus)
	{
		thread = std::thread([this] { poll(); });
		attach(its_bus);
	}

	int stop()
	{
		thread.join();
		return value;
	}

private:
	void attach(Bus *its_bus)
	{
		bus = its_bus;
	}

	void poll()
	{
		Bus *mine = bus;
		assert(mine != nullptr);
		value = mine->read();
	}

	Bus *bus = nullptr;
	int value = 0;
	std::thread thread;
};

int main()
{
	Bus bus;
	Device disk(&bus);
	Device screen(&bus);

	int sum = disk.stop() + screen.stop();
	assert(sum == 3);
	return 0;
}
