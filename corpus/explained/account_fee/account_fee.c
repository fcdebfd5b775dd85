/*
 * account_fee: a bank books deposits while the monthly fee is taken from the account.
 *
 * Written for this corpus.
 *
 * Bug (lost update): both functions that the fee is made of lock the account, but not from
 * one to the other. Fails when a deposit is booked between reading and setting the balance.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define OPENING 100
#define DEPOSIT 50
#define FEE 5

struct account {
	pthread_mutex_t lock;
	int bookings;
	int balance;
};

static struct account *open_account(int balance)
{
	struct account *a = calloc(1, sizeof *a);

	pthread_mutex_init(&a->lock, NULL);
	a->balance = balance;
	return a;
}

static int get_balance(struct account *a)
{
	pthread_mutex_lock(&a->lock);
	int balance = a->balance;
	pthread_mutex_unlock(&a->lock);
	return balance;
}

static void set_balance(struct account *a, int balance)
{
	pthread_mutex_lock(&a->lock);
	a->balance = balance;
	a->bookings++;
	pthread_mutex_unlock(&a->lock);
}

static void *depositor(void *arg)
{
	struct account *a = arg;

	pthread_mutex_lock(&a->lock);
	a->balance += DEPOSIT;
	a->bookings++;
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static void *monthly_fee(void *arg)
{
	struct account *a = arg;

	int balance = get_balance(a);
	set_balance(a, balance - FEE);
	return NULL;
}

int main(void)
{
	struct account *a = open_account(OPENING);
	pthread_t threads[3];

	pthread_create(&threads[0], NULL, depositor, a);
	pthread_create(&threads[1], NULL, monthly_fee, a);
	pthread_create(&threads[2], NULL, depositor, a);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d bookings\n", a->bookings);
	assert(a->balance == OPENING + 2 * DEPOSIT - FEE);
	free(a);
	return 0;
}
