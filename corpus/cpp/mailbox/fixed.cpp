/*
 * The fixed twin of mailbox.cpp: the receiver tests the box under the lock, and
 * wait() tests it again after each wake-up.
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
		std::unique_lock<std::mutex> lock(mutex);
		arrived.wait(lock, [this] { return full.load(); });
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
