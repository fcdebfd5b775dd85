/*
 * token_bucket: clients ask a rate limiter for a token; it has one token less than there
 * are clients, so that one of them should be refused.
 *
 * Written for this corpus.
 *
 * Bug (check then act): a client sees that there is a token and takes it in a second step.
 * Fails when two clients see the last token before either of them takes it.
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

static bool has_token(struct bucket *b)
{
	return atomic_load(&b->tokens) > 0;
}

static void spend(struct bucket *b)
{
	atomic_fetch_sub(&b->tokens, 1);
}

static bool admit(struct bucket *b)
{
	if (!has_token(b)) {
		atomic_fetch_add(&b->refused, 1);
		return false;
	}
	spend(b);
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
