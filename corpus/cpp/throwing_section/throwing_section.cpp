/*
 * throwing_section: two clients add entries to a journal that refuses empty
 * ones by an exception.
 *
 * Modelled on C++ that locks as C does: lock(), work, unlock(). An exception
 * in between passes the unlock by.
 *
 * Bug (deadlock): the client with the empty entry throws with the mutex held;
 * whoever comes after it waits for ever.
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
		mutex.lock();
		check(entry);
		entries.push_back(entry);
		mutex.unlock();
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
