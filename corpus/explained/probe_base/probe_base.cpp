/*
 * probe_base: a probe runs in a thread that its base class owns: the base class starts it, stops it
 * and joins it.
 *
 * Written for this corpus, after classes that wrap a thread and call a virtual method in it.
 *
 * Bug (early free): the destructor of the base class joins, and when it begins the derived part is
 * gone. Fails when the thread makes its call between the two destructors.
 */
#include <atomic>
#include <cstdio>
#include <thread>

class Periodic {
public:
	virtual ~Periodic()
	{
		stopped.store(true);
		if (runner.joinable())
			runner.join();
	}

	void start()
	{
		runner = std::thread([this] { rounds(); });
	}

	virtual void round() = 0;

private:
	void rounds()
	{
		for (int i = 0; i < 2 && !stopped.load(); i++)
			round();
	}

	std::thread runner;
	std::atomic<bool> stopped{false};
};

class Probe : public Periodic {
public:
	void round() override { samples.fetch_add(1); }

	std::atomic<int> samples{0};
};

int main()
{
	{
		Probe probe;
		probe.start();
	}
	std::printf("probed\n");
	return 0;
}
