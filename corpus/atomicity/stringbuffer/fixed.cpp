/*
 * The fixed twin of stringbuffer.cpp: append() holds the mutex of the other
 * buffer, too, from asking its length to having copied its characters.
 */
#include <cassert>
#include <cstring>
#include <mutex>
#include <thread>

class StringBuffer {
public:
	explicit StringBuffer(const char *text)
	{
		count = static_cast<int>(std::strlen(text));
		std::memcpy(value, text, count);
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
		copyChars(begin, end, dst);
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
		std::scoped_lock both(mutex, other.mutex);
		int len = other.count;
		assert(count + len <= capacity);
		other.copyChars(0, len, value + count);
		count = count + len;
		return *this;
	}

private:
	static constexpr int capacity = 32;

	/* The caller holds the mutex. */
	void copyChars(int begin, int end, char *dst)
	{
		assert(begin <= end && end <= count);
		for (int i = begin; i < end; i++)
			dst[i - begin] = value[i];
	}

	std::mutex mutex;
	char value[capacity] = {};
	int count = 0;
};

static StringBuffer sb("abc");
static StringBuffer result("x");

static void eraser()
{
	sb.erase(0, 1);
	sb.erase(0, 2);
}

static void appender()
{
	result.append(sb);
}

int main()
{
	std::thread t1(appender);
	std::thread t2(eraser);
	t1.join();
	t2.join();
	assert(sb.length() == 0);
	assert(result.length() >= 1 && result.length() <= 4);
	return 0;
}
