/*
 * The fixed twin of bank.c: BankTotal has a lock of its own, held from the read
 * of the old total to the write of the new one.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ACCOUNTS 3
#define TELLERS 2
#define ORDERS 3
#define INITIAL_BALANCE 100

enum kind { DEPOSIT, TRANSFER };

struct order {
	enum kind kind;
	int from; /* of a transfer */
	int to;
	int amount;
};

struct account {
	pthread_mutex_t lock;
	int balance;
};

static struct account accounts[ACCOUNTS];
static int BankTotal;
static int days; /* how often all customers come: the argument, else once */
static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;

/* What the customers of each teller want, in the order they queue. */
static const struct order orders[TELLERS][ORDERS] = {
	{ { DEPOSIT, 0, 0, 10 }, { TRANSFER, 0, 1, 30 }, { DEPOSIT, 0, 2, 20 } },
	{ { TRANSFER, 2, 0, 15 }, { DEPOSIT, 0, 1, 40 }, { TRANSFER, 1, 2, 5 } },
};

static void deposit(int to, int amount)
{
	pthread_mutex_lock(&accounts[to].lock);
	accounts[to].balance += amount;
	pthread_mutex_unlock(&accounts[to].lock);

	pthread_mutex_lock(&total_lock);
	int total = BankTotal;
	BankTotal = total + amount;
	pthread_mutex_unlock(&total_lock);
}

static void transfer(int from, int to, int amount)
{
	int first = from < to ? from : to;
	int second = from < to ? to : from;

	pthread_mutex_lock(&accounts[first].lock);
	pthread_mutex_lock(&accounts[second].lock);
	accounts[from].balance -= amount;
	accounts[to].balance += amount;
	pthread_mutex_unlock(&accounts[second].lock);
	pthread_mutex_unlock(&accounts[first].lock);
}

static void *teller(void *arg)
{
	const struct order *queue = arg;
	for (int day = 0; day < days; day++)
		for (int i = 0; i < ORDERS; i++) {
			if (queue[i].kind == DEPOSIT)
				deposit(queue[i].to, queue[i].amount);
			else
				transfer(queue[i].from, queue[i].to, queue[i].amount);
		}
	return NULL;
}

static void audit(void)
{
	int accountsTotal = 0;

	for (int i = 0; i < ACCOUNTS; i++)
		accountsTotal += accounts[i].balance;
	printf("accounts %d, bank %d\n", accountsTotal, BankTotal);
	assert(accountsTotal == BankTotal);
}

int main(int argc, char **argv)
{
	pthread_t tellers[TELLERS];
	days = argc > 1 ? atoi(argv[1]) : 1;
	for (int i = 0; i < ACCOUNTS; i++) {
		pthread_mutex_init(&accounts[i].lock, NULL);
		accounts[i].balance = INITIAL_BALANCE;
	}
	BankTotal = ACCOUNTS * INITIAL_BALANCE;

	for (int i = 0; i < TELLERS; i++)
		pthread_create(&tellers[i], NULL, teller, (void *)orders[i]);
	for (int i = 0; i < TELLERS; i++)
		pthread_join(tellers[i], NULL);

	audit();
	return 0;
}
