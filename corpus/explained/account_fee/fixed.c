/*
 * The fixed twin of account_fee.c: the fee is taken under one lock.
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

	pthread_mutex_lock(&a->lock);
	a->balance -= FEE;
	a->bookings++;
	pthread_mutex_unlock(&a->lock);
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
