/*
 * The fixed twin of detached_log.cpp: the threads are joined before the log is deleted.
 */
#include <atomic>
#include <mutex>
#include <thread>

struct Log {
	int lines = 0;
	int last = -1;
};

static std::mutex log_lock;
static Log *shared_log;
static std::atomic<int> begun{0};

static void write_line(int writer)
{
	std::lock_guard<std::mutex> guard(log_lock);
	shared_log->lines++;
	shared_log->last = writer;
}

static void writer(int id)
{
	begun.fetch_add(1);
	write_line(id);
}

static void close_log()
{
	std::lock_guard<std::mutex> guard(log_lock);
	delete shared_log;
}

int main()
{
	shared_log = new Log;
	std::thread first(writer, 1);
	std::thread second(writer, 2);
	while (begun.load() < 2)
		std::this_thread::yield();
	write_line(0);
	first.join();
	second.join();
	close_log();
	return 0;
}
