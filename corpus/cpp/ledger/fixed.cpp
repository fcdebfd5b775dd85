/*
 * The fixed twin of ledger.cpp: std::lock_guard releases the mutex however the
 * function is left.
 */
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <thread>

class Account {
public:
	explicit Account(int balance) : balance(balance) {}

	void deposit(int amount)
	{
		std::lock_guard<std::mutex> guard(mutex);
		balance += amount;
	}

	void withdraw(int amount)
	{
		std::lock_guard<std::mutex> guard(mutex);
		check(amount);
		balance -= amount;
	}

	int total() const
	{
		return balance;
	}

private:
	void check(int amount) const
	{
		if (amount > balance)
			throw std::runtime_error("not covered");
	}

	std::mutex mutex;
	int balance;
};

static Account account(50);
static bool refused;

static void payer()
{
	try {
		account.withdraw(80);
	} catch (const std::runtime_error &) {
		refused = true;
	}
}

static void employer()
{
	account.deposit(100);
}

int main()
{
	std::thread pay(payer);
	std::thread earn(employer);
	pay.join();
	earn.join();
	assert(account.total() == (refused ? 150 : 70));
	return 0;
}
