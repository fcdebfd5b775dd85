/*
 * The fixed twin of samebucket.c: a bucket is counted up in one step.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define BUCKETS 4096

extern int __VERIFIER_nondet_int(void);

struct key {
	int value;
};

static atomic_int buckets[BUCKETS]; /* how many keys are in each */

static void *insert(void *arg)
{
	const struct key *key = arg;
	atomic_int *bucket = &buckets[(unsigned)key->value % BUCKETS];

	atomic_fetch_add(bucket, 1);
	return NULL;
}

int main(void)
{
	static struct key keys[2];
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		keys[i].value = __VERIFIER_nondet_int();
	if (keys[0].value == keys[1].value)
		return 0; /* a key is inserted once */
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, insert, &keys[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);

	unsigned first = (unsigned)keys[0].value % BUCKETS;
	unsigned second = (unsigned)keys[1].value % BUCKETS;
	assert(buckets[first] == 1 + (first == second));
	return 0;
}
