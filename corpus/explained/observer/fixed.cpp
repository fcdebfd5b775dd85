/*
 * The fixed twin of observer.cpp: the display detaches itself without its lock.
 */
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

class Display {
public:
	void update(int value)
	{
		std::lock_guard<std::mutex> guard(display_lock);
		if (open)
			shown = value;
	}

	void close();

	int shown = 0;

private:
	std::mutex display_lock;
	bool open = true;
};

class Sensor {
public:
	explicit Sensor(Display *display) : display(display) {}

	void measure(int value)
	{
		std::lock_guard<std::mutex> guard(sensor_lock);
		last = value;
		if (display != nullptr)
			display->update(value);
	}

	void detach()
	{
		std::lock_guard<std::mutex> guard(sensor_lock);
		display = nullptr;
	}

	int read()
	{
		std::lock_guard<std::mutex> guard(sensor_lock);
		return last;
	}

private:
	std::mutex sensor_lock;
	Display *display;
	int last = 0;
};

static Display display;
static Sensor sensor(&display);

void Display::close()
{
	sensor.detach();
	std::lock_guard<std::mutex> guard(display_lock);
	open = false;
}

int main()
{
	int seen = 0;
	std::thread measuring([] { sensor.measure(21); });
	std::thread closing([] { display.close(); });
	std::thread reading([&seen] { seen = sensor.read(); });

	measuring.join();
	closing.join();
	reading.join();
	std::printf("shown %d, seen %d\n", display.shown, seen);
	assert(sensor.read() == 21);
	return 0;
}
