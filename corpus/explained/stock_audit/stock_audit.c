/*
 * stock_audit: a warehouse books deliveries and sales while an auditor counts what is there.
 *
 * Written for this corpus.
 *
 * Bug (the check is wrong, not the order): once both are booked the auditor demands a stock from
 * which the delivery was taken away instead of added. Fails whenever the auditor comes last;
 * passes whenever it comes too early to compare anything.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define OPENING 40
#define DELIVERED 7
#define SOLD 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stock = OPENING;
static int delivered, sold;

static void *deliver(void *arg)
{
	pthread_mutex_lock(&lock);
	stock += DELIVERED;
	delivered = 1;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *sell(void *arg)
{
	pthread_mutex_lock(&lock);
	stock -= SOLD;
	sold = 1;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *audit(void *arg)
{
	pthread_mutex_lock(&lock);
	if (delivered && sold)
		assert(stock == OPENING - DELIVERED - SOLD);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	void *(*work[])(void *) = { deliver, sell, audit };
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("stock %d\n", stock);
	return 0;
}
