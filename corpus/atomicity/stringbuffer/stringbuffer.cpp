/*
 * stringbuffer: StringBuffer::append(other) copies the characters of another
 * buffer, each method of which is synchronised by itself.
 *
 * Modelled on the C++ version of the JDK 1.4 StringBuffer bug of Flanagan and
 * Qadeer, as studied by Symbiosis (table I, figure 6a) and Cortex (StringBuf).
 *
 * Bug (atomicity violation): append() asks other.length() and passes the
 * answer to other.getChars(). If another thread erases characters of `other`
 * in between, the length is stale, and getChars() is asked for more than there
 * is (in Java a StringIndexOutOfBoundsException, here an assertion).
 */
#include <cassert>
#include <cstdlib>
#include <mutex>
#include <thread>

class StringBuffer {
public:
	/* Letters of the alphabet, before other threads have the buffer. */
	void fill(int letters)
	{
		for (count = 0; count < letters; count++)
			value[count] = static_cast<char>('a' + count % 26);
	}

	int length()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return count;
	}

	/* Copies the characters [begin, end) to dst. */
	void getChars(int begin, int end, char *dst)
	{
		std::lock_guard<std::mutex> guard(mutex);
		assert(begin <= end && end <= count);
		for (int i = begin; i < end; i++)
			dst[i - begin] = value[i];
	}

	void erase(int begin, int end)
	{
		std::lock_guard<std::mutex> guard(mutex);
		assert(begin <= end);
		if (end > count)
			end = count;
		int removed = end - begin;
		for (int i = end; i < count; i++)
			value[i - removed] = value[i];
		count = count - removed;
	}

	StringBuffer &append(StringBuffer &other)
	{
		std::lock_guard<std::mutex> guard(mutex);
		int len = other.length();
		assert(count + len <= capacity);
		other.getChars(0, len, value + count);
		count = count + len;
		return *this;
	}

private:
	static constexpr int capacity = 512;

	std::mutex mutex;
	char value[capacity] = {};
	int count = 0;
};

static StringBuffer sb;
static StringBuffer result;
static int letters = 3;

static void eraser()
{
	sb.erase(0, 1);
	sb.erase(0, letters - 1);
}

static void appender()
{
	result.append(sb);
}

/* The argument is the number of letters to append. */
int main(int argc, char **argv)
{
	if (argc > 1)
		letters = std::atoi(argv[1]);
	sb.fill(letters);
	result.fill(1);
	std::thread t1(appender);
	std::thread t2(eraser);
	t1.join();
	t2.join();
	assert(sb.length() == 0);
	assert(result.length() >= 1 && result.length() <= letters + 1);
	return 0;
}
