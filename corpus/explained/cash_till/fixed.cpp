/*
 * The fixed twin of cash_till.cpp: the cash has a lock of its own.
 */
#include <cassert>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

class Till {
public:
	void sale(int amount)
	{
		std::lock_guard<std::mutex> guard(sales_lock);
		sales++;
		book(amount);
	}

	void refund(int amount)
	{
		std::lock_guard<std::mutex> guard(refunds_lock);
		refunds++;
		book(-amount);
	}

	int close() const
	{
		std::printf("%d sales, %d refunds\n", sales, refunds);
		return cash;
	}

private:
	void book(int amount)
	{
		std::lock_guard<std::mutex> guard(cash_lock);
		cash += amount;
	}

	std::mutex sales_lock;
	int sales = 0;

	std::mutex refunds_lock;
	int refunds = 0;

	std::mutex cash_lock;
	int cash = 0;
};

static void front_desk(Till &till, int amount)
{
	till.sale(amount);
}

static void service_desk(Till &till)
{
	till.refund(30);
}

int main()
{
	Till till;

	std::thread first(front_desk, std::ref(till), 100);
	std::thread second(front_desk, std::ref(till), 20);
	std::thread service(service_desk, std::ref(till));
	first.join();
	second.join();
	service.join();
	assert(till.close() == 90);
	return 0;
}
