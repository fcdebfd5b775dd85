/*
 * account: every thread manages one account: it deposits, withdraws, and
 * transfers to the account of its neighbour.
 *
 * Modelled on `Account` of the IBM ConTest suite as studied by Cortex (table
 * 5.1). In the original all methods are synchronized, but transfer() changes
 * two objects and is synchronized on one of them only.
 *
 * Bug (wrong lock): transfer() holds the lock of the account it takes from and
 * adds to the other one without its lock. The addition interleaves with a
 * deposit or withdrawal of the neighbour, and one of the two updates is lost.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_ACCOUNTS 16
#define INITIAL 100
#define DEPOSIT 300
#define WITHDRAWAL 100
#define TRANSFER 99

struct account {
	pthread_mutex_t lock;
	int amount;
};

static struct account accounts[MAX_ACCOUNTS];
static int num_accounts = 2;
static int rounds = 1;

static void deposit(struct account *a, int money)
{
	pthread_mutex_lock(&a->lock);
	a->amount += money;
	pthread_mutex_unlock(&a->lock);
}

static void withdraw(struct account *a, int money)
{
	pthread_mutex_lock(&a->lock);
	a->amount -= money;
	pthread_mutex_unlock(&a->lock);
}

static void transfer(struct account *a, struct account *to, int money)
{
	pthread_mutex_lock(&a->lock);
	a->amount -= money;
	to->amount += money;
	pthread_mutex_unlock(&a->lock);
}

static void *manage(void *arg)
{
	struct account *mine = arg;
	struct account *neighbour = &accounts[(mine - accounts + 1) % num_accounts];

	for (int i = 0; i < rounds; i++) {
		deposit(mine, DEPOSIT);
		transfer(mine, neighbour, TRANSFER);
		withdraw(mine, WITHDRAWAL);
	}
	return NULL;
}

/* The arguments are the number of accounts, and of rounds of each. */
int main(int argc, char **argv)
{
	pthread_t threads[MAX_ACCOUNTS];

	if (argc > 1)
		num_accounts = atoi(argv[1]);
	if (argc > 2)
		rounds = atoi(argv[2]);
	if (num_accounts > MAX_ACCOUNTS)
		return 2;
	for (int i = 0; i < num_accounts; i++) {
		pthread_mutex_init(&accounts[i].lock, NULL);
		accounts[i].amount = INITIAL;
	}
	for (int i = 0; i < num_accounts; i++)
		pthread_create(&threads[i], NULL, manage, &accounts[i]);
	for (int i = 0; i < num_accounts; i++)
		pthread_join(threads[i], NULL);

	/* Everybody gave his neighbour what he got from the other one. */
	for (int i = 0; i < num_accounts; i++) {
		printf("account %d: %d\n", i, accounts[i].amount);
		assert(accounts[i].amount == INITIAL + rounds * (DEPOSIT - WITHDRAWAL));
	}
	return 0;
}
