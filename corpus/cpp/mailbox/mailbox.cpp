/*
 * mailbox: one thread puts a letter into a mailbox, another waits for it with a
 * std::condition_variable.
 *
 * Modelled on the textbook misuse of condition variables in C++: the
 * predicate is tested outside the lock, and wait() has none.
 *
 * Bug (lost wake-up): the receiver finds the box empty; the sender fills it and
 * notifies, but nobody waits yet; the receiver then waits for a notification
 * that has been given already.
 */
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

class Mailbox {
public:
	void put(std::string text)
	{
		{
			std::lock_guard<std::mutex> guard(mutex);
			letter = std::move(text);
			full = true;
		}
		arrived.notify_one();
	}

	std::string get()
	{
		if (!full) {
			std::unique_lock<std::mutex> lock(mutex);
			arrived.wait(lock);
		}
		std::lock_guard<std::mutex> guard(mutex);
		full = false;
		return std::move(letter);
	}

private:
	std::mutex mutex;
	std::condition_variable arrived;
	std::atomic<bool> full{false};
	std::string letter;
};

int main()
{
	Mailbox box;
	std::string received;

	std::thread receiver([&] { received = box.get(); });
	std::thread sender([&] { box.put("hello"); });
	receiver.join();
	sender.join();
	assert(received == "hello");
	return 0;
}
