/*
 * copied_text: one text is appended to another while a thread clears and refills it.
 *
 * Written for this corpus, after the shape of the string buffer of JDK 1.4.
 *
 * Bug (check then act): append asks for the length of the other text and copies so many letters
 * later. It holds its own lock over both, and the other text's only in each of them. Fails when
 * the other text is cleared in between.
 */
#include <cassert>
#include <mutex>
#include <thread>

class Text {
public:
	explicit Text(int letters) : count(letters) {}

	int length()
	{
		std::lock_guard<std::mutex> guard(lock);
		return count;
	}

	void copy(int letters)
	{
		std::lock_guard<std::mutex> guard(lock);
		assert(letters <= count);
	}

	void clear()
	{
		std::lock_guard<std::mutex> guard(lock);
		count = 0;
	}

	void append(Text &other)
	{
		std::lock_guard<std::mutex> guard(lock);
		int letters = other.length();
		other.copy(letters);
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
