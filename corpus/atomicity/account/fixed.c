/*
 * The fixed twin of account.c: transfer() releases the lock of the first account
 * and adds to the second one under that one's own lock. The sum is short of
 * `money` in between, but nothing is lost, and no thread holds two locks.
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
	pthread_mutex_unlock(&a->lock);

	deposit(to, money);
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
