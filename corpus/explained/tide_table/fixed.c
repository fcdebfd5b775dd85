/*
 * tide_table: a gauge writes a pair of values that add up to nothing, guarded by a version; a
 * reader reads both and takes them if the version is the same after as before.
 *
 * Written for this corpus, after sequence locks.
 *
 * The twin: the reader tries again as long as the version is odd.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define ROUNDS 2

static struct {
	atomic_uint version;
	atomic_int rise;
	atomic_int fall;
} tide;

static void store_tide(int level)
{
	atomic_fetch_add(&tide.version, 1);
	atomic_store(&tide.rise, level);
	atomic_store(&tide.fall, -level);
	atomic_fetch_add(&tide.version, 1);
}

static int balance(void)
{
	unsigned before, after;
	int rise, fall;

	do {
		before = atomic_load(&tide.version);
		rise = atomic_load(&tide.rise);
		fall = atomic_load(&tide.fall);
		after = atomic_load(&tide.version);
	} while (before % 2 != 0 || before != after);
	return rise + fall;
}

static void *gauge(void *arg)
{
	(void)arg;
	for (int i = 1; i <= ROUNDS; i++)
		store_tide(10 * i);
	return NULL;
}

static void *reader(void *arg)
{
	(void)arg;
	assert(balance() == 0);
	return NULL;
}

int main(void)
{
	pthread_t writing, reading;

	pthread_create(&writing, NULL, gauge, NULL);
	pthread_create(&reading, NULL, reader, NULL);
	pthread_join(writing, NULL);
	pthread_join(reading, NULL);
	printf("read\n");
	return 0;
}
