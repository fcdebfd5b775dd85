/*
 * The fixed twin of copied_text.cpp: the other text is locked over length and copy.
 */
#include <cassert>
#include <mutex>
#include <thread>

class Text {
public:
	explicit Text(int letters) : count(letters) {}

	void clear()
	{
		std::lock_guard<std::mutex> guard(lock);
		count = 0;
	}

	void append(Text &other)
	{
		std::scoped_lock guard(lock, other.lock);
		int letters = other.count;
		assert(letters <= other.count);
		count += letters;
	}

	void refill(int letters)
	{
		std::lock_guard<std::mutex> guard(lock);
		count = letters;
	}

private:
	std::mutex lock;
	int count;
};

int main()
{
	Text source(3), target(0);
	std::thread edits([&source] {
		source.clear();
		source.refill(3);
	});
	target.append(source);
	edits.join();
	return 0;
}
