/*
 * The fixed twin of account.c: transfer() releases the lock of the first account
 * and adds to the second one under that one's own lock. The sum is short of
 * `money` in between, but nothing is lost, and no thread holds two locks.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define ACCOUNTS 2
#define INITIAL 100
#define DEPOSIT 300
#define WITHDRAWAL 100
#define TRANSFER 99

struct account {
	pthread_mutex_t lock;
	int amount;
};

static struct account accounts[ACCOUNTS];

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
	struct account *neighbour = &accounts[(mine - accounts + 1) % ACCOUNTS];

	deposit(mine, DEPOSIT);
	transfer(mine, neighbour, TRANSFER);
	withdraw(mine, WITHDRAWAL);
	return NULL;
}

int main(void)
{
	pthread_t threads[ACCOUNTS];

	for (int i = 0; i < ACCOUNTS; i++) {
		pthread_mutex_init(&accounts[i].lock, NULL);
		accounts[i].amount = INITIAL;
	}
	for (int i = 0; i < ACCOUNTS; i++)
		pthread_create(&threads[i], NULL, manage, &accounts[i]);
	for (int i = 0; i < ACCOUNTS; i++)
		pthread_join(threads[i], NULL);

	/* Everybody gave his neighbour what he got from the other one. */
	for (int i = 0; i < ACCOUNTS; i++) {
		printf("account %d: %d\n", i, accounts[i].amount);
		assert(accounts[i].amount == INITIAL + DEPOSIT - WITHDRAWAL);
	}
	return 0;
}
