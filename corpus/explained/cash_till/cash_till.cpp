/*
 * cash_till: a shop books sales and refunds; each has a queue of its own, with a lock.
 *
 * Written for this corpus.
 *
 * Bug (lost update): each function locks, but the cash that both of them change is under two
 * different locks. Fails when a refund is booked while a sale is, or the other way round.
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
		cash += amount;
	}

	void refund(int amount)
	{
		std::lock_guard<std::mutex> guard(refunds_lock);
		refunds++;
		cash -= amount;
	}

	int close() const
	{
		std::printf("%d sales, %d refunds\n", sales, refunds);
		return cash;
	}

private:
	std::mutex sales_lock;
	int sales = 0;

	std::mutex refunds_lock;
	int refunds = 0;

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
