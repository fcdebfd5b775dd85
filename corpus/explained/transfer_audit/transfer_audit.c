/*
 * transfer_audit: money goes from account to account, and an auditor counts it.
 *
 * Written for this corpus.
 *
 * Bug (torn read): the auditor holds the lock of the bank while he counts, but a transfer
 * gives it back between taking the money from one account and adding it to the other. Fails
 * when he counts then: the money is nowhere.
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
	pthread_mutex_lock(&bank.lock);
	a->balance += amount;
	pthread_mutex_unlock(&bank.lock);
}

static void transfer(struct account *from, struct account *to, int amount)
{
	change(from, -amount);
	change(to, amount);
	pthread_mutex_lock(&bank.lock);
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
