/*
 * ledger: one thread withdraws from an account, another deposits; a withdrawal
 * that is not covered throws.
 *
 * Modelled on the textbook argument for std::lock_guard: lock() and unlock()
 * by hand, and an exception in between.
 *
 * Bug (lock not released): the withdrawal runs before the deposit, finds too
 * little money and throws; the exception is caught, but the mutex stays locked.
 * The deposit waits for it for ever. If the deposit comes first, nothing is
 * thrown.
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
		mutex.lock();
		balance += amount;
		mutex.unlock();
	}

	void withdraw(int amount)
	{
		mutex.lock();
		check(amount);
		balance -= amount;
		mutex.unlock();
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
