/*
 * sensor_board: two sensors publish samples on a board, a controller reads one of them.
 *
 * Written for this corpus.
 *
 * Bug (torn read): the controller locks the board while it reads value and time of a sample,
 * but a sensor writes them without the lock. Fails when the controller has the value of one
 * sample and the time of another.
 */
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

struct Sample {
	std::atomic<int> value{0};
	std::atomic<int> time{0};
};

class Board {
public:
	void publish(int sensor, int value, int time)
	{
		samples[sensor].value = value;
		samples[sensor].time = time;
		published++;
	}

	void read(int sensor, int &value, int &time)
	{
		std::lock_guard<std::mutex> guard(mutex);
		value = samples[sensor].value;
		time = samples[sensor].time;
		reads++;
	}

	int accesses()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return reads + published;
	}

private:
	std::mutex mutex;
	Sample samples[2];
	int reads = 0;
	std::atomic<int> published{0};
};

static Board board;

static void sensor(int id)
{
	board.publish(id, 10, 1);
}

static void controller()
{
	int value, time;

	board.read(1, value, time);
	assert(value == 10 * time);
}

int main()
{
	std::thread first(sensor, 0);
	std::thread second(sensor, 1);
	std::thread control(controller);
	first.join();
	second.join();
	control.join();
	assert(board.accesses() == 3);
	return 0;
}
