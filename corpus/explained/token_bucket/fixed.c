/*
 * The fixed twin of token_bucket.c: a token is taken by a compare-and-swap that fails if
 * the number has changed since it was looked at.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define CLIENTS 4

struct bucket {
	atomic_int tokens;
	atomic_int refused;
};

static struct bucket bucket = { .tokens = CLIENTS - 1 };
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int served;

static bool try_spend(struct bucket *b)
{
	int left = atomic_load(&b->tokens);

	while (left > 0)
		if (atomic_compare_exchange_strong(&b->tokens, &left, left - 1))
			return true;
	return false;
}

static bool admit(struct bucket *b)
{
	if (!try_spend(b)) {
		atomic_fetch_add(&b->refused, 1);
		return false;
	}
	return true;
}

static void *client(void *arg)
{
	if (admit(&bucket)) {
		pthread_mutex_lock(&log_lock);
		served++;
		pthread_mutex_unlock(&log_lock);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&threads[i], NULL, client, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	printf("%d served, %d refused\n", served, atomic_load(&bucket.refused));
	assert(atomic_load(&bucket.tokens) >= 0);
	return 0;
}
