/*
 * stream_close: a stream is written by one thread at a time; three threads may close it, and
 * the first one that does deletes its buffer.
 *
 * Written for this corpus.
 *
 * Bug (double free): whether the stream is closed is looked at and noted in two steps. Fails
 * when two threads find it open and both delete the buffer.
 */
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

class Stream {
public:
	Stream() : buffer(new char[8]()) {}

	bool write(char byte)
	{
		std::lock_guard<std::mutex> guard(position_lock);
		if (position == 8)
			return false;
		pending[position++] = byte;
		return true;
	}

	void close()
	{
		if (closed.load())
			return;
		closed.store(true);
		delete[] buffer;
	}

private:
	std::mutex position_lock;
	int position = 0;
	char pending[8] = {};
	std::atomic<bool> closed{false};
	char *const buffer;
};

static Stream stream;
static std::atomic<int> written{0};

static void user(int id)
{
	if (stream.write(static_cast<char>('a' + id)))
		written.fetch_add(1);
	stream.close();
}

int main()
{
	std::vector<std::thread> users;

	for (int i = 0; i < 3; i++)
		users.emplace_back(user, i);
	for (std::thread &thread : users)
		thread.join();
	assert(written == 3);
	return 0;
}
