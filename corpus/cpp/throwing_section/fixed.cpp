/*
 * The fixed twin of throwing_section.cpp: a guard unlocks, whichever way the
 * section is left.
 */
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

class Journal {
public:
	void add(const std::string &entry)
	{
		std::lock_guard<std::mutex> hold(mutex);
		check(entry);
		entries.push_back(entry);
	}

	size_t size() const
	{
		return entries.size();
	}

private:
	static void check(const std::string &entry)
	{
		if (entry.empty())
			throw std::invalid_argument("an empty entry");
	}

	std::mutex mutex;
	std::vector<std::string> entries;
};

static Journal journal;

static void client(const char *entry)
{
	try {
		journal.add(entry);
	} catch (const std::invalid_argument &) {
	}
}

int main()
{
	std::thread good(client, "hello");
	std::thread bad(client, "");
	good.join();
	bad.join();
	assert(journal.size() == 1);
	return 0;
}
