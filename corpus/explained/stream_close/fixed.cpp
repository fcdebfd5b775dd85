/*
 * The fixed twin of stream_close.cpp: one atomic operation looks and notes.
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
		if (closed.exchange(true))
			return;
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
