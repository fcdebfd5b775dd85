/*
 * The fixed twin of memory_gauge.cpp: one atomic operation reads and writes the gauge.
 */
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>
#include <vector>

class Gauge {
public:
	void change(int bytes)
	{
		int now = in_use.fetch_add(bytes) + bytes;
		changes.fetch_add(1);
		raise(now);
	}

	int current() const
	{
		return in_use.load();
	}

	void print() const
	{
		std::printf("at most %d in %d changes\n", most.load(), changes.load());
	}

private:
	void raise(int now)
	{
		int seen = most.load();
		while (now > seen && !most.compare_exchange_strong(seen, now))
			;
	}

	std::atomic<int> in_use{0};
	std::atomic<int> most{0};
	std::atomic<int> changes{0};
};

static Gauge gauge;

static void user(int bytes)
{
	gauge.change(bytes);
	gauge.change(-bytes);
}

int main()
{
	std::vector<std::thread> users;

	for (int bytes : {16, 32, 64, 128})
		users.emplace_back(user, bytes);
	for (std::thread &thread : users)
		thread.join();
	gauge.print();
	assert(gauge.current() == 0);
	return 0;
}
