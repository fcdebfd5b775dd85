/*
 * detached_log: two threads write to a log; main waits until they have begun, writes a last
 * line and deletes the log.
 *
 * Written for this corpus.
 *
 * Bug (missing join): the threads are detached, and that they have begun does not mean that
 * they are done. Fails when main deletes the log before a thread has written to it.
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
	std::thread(writer, 1).detach();
	std::thread(writer, 2).detach();
	while (begun.load() < 2)
		std::this_thread::yield();
	write_line(0);
	close_log();
	return 0;
}
