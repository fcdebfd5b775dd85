/*
 * The fixed twin of thread_in_constructor.cpp: the thread is started last.
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
		attach(its_bus);
		thread = std::thread([this] { poll(); });
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
