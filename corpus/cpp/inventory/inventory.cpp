/*
 * inventory: customers order from a small shop whose stock is guarded by a
 * std::mutex.
 *
 * Modelled on the textbook misuse of a monitor class in C++: every member
 * function locks, but the caller combines two of them.
 *
 * Bug (atomicity violation, check then act): order() asks for the stock and
 * takes from it in two calls. Two customers see the last item, both take it,
 * and the stock falls below zero. In every run that passes, one order more is
 * refused.
 */
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

class Inventory {
public:
	explicit Inventory(int items) : items(items) {}

	int stock()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return items;
	}

	void take(int n)
	{
		std::lock_guard<std::mutex> guard(mutex);
		items = items - n;
		assert(items >= 0);
	}

private:
	std::mutex mutex;
	int items;
};

class Customer {
public:
	explicit Customer(Inventory &shop) : shop(shop) {}

	void order(int n)
	{
		if (shop.stock() >= n) {
			shop.take(n);
			received += n;
		}
	}

	int received = 0;

private:
	Inventory &shop;
};

int main()
{
	Inventory shop(3);
	std::vector<Customer> customers(2, Customer(shop));
	std::vector<std::thread> threads;

	for (Customer &customer : customers)
		threads.emplace_back([&customer] { customer.order(2); });
	for (std::thread &thread : threads)
		thread.join();

	int received = 0;
	for (const Customer &customer : customers)
		received += customer.received;
	assert(received + shop.stock() == 3);
	return 0;
}
