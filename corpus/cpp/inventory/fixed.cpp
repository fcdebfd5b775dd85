/*
 * The fixed twin of inventory.cpp: one member function looks at the stock and
 * takes from it.
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

	bool take_if_there(int n)
	{
		std::lock_guard<std::mutex> guard(mutex);
		if (items < n)
			return false;
		items = items - n;
		assert(items >= 0);
		return true;
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
		if (shop.take_if_there(n))
			received += n;
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
