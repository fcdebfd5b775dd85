/*
 * The fixed twin of transfer_audit.c: a transfer holds the lock until the money has arrived.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define ACCOUNTS 3
#define OPENING 50

struct account {
	int number;
	int balance;
};

static struct {
	pthread_mutex_t lock;
	struct account accounts[ACCOUNTS];
	int transfers;
} bank = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void change(struct account *a, int amount)
{
	a->balance += amount;
}

static void transfer(struct account *from, struct account *to, int amount)
{
	pthread_mutex_lock(&bank.lock);
	change(from, -amount);
	change(to, amount);
	bank.transfers++;
	pthread_mutex_unlock(&bank.lock);
}

static void *pay(void *arg)
{
	struct account *from = arg;

	transfer(from, &bank.accounts[2], 10);
	return NULL;
}

static void *audit(void *arg)
{
	int sum = 0;

	pthread_mutex_lock(&bank.lock);
	for (int i = 0; i < ACCOUNTS; i++)
		sum += bank.accounts[i].balance;
	pthread_mutex_unlock(&bank.lock);
	assert(sum == ACCOUNTS * OPENING);
	return arg;
}

int main(void)
{
	pthread_t threads[3];

	for (int i = 0; i < ACCOUNTS; i++)
		bank.accounts[i] = (struct account){ .number = i, .balance = OPENING };
	pthread_create(&threads[0], NULL, pay, &bank.accounts[0]);
	pthread_create(&threads[1], NULL, audit, NULL);
	pthread_create(&threads[2], NULL, pay, &bank.accounts[1]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d transfers\n", bank.transfers);
	return 0;
}
