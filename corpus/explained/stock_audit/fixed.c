/*
 * The fixed twin of stock_audit.c: the auditor demands what was delivered.
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
		assert(stock == OPENING + DELIVERED - SOLD);
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
