/*
 * twostage: two values must always agree (data2 == data1 + 1), but they are
 * updated in two stages under two different locks.
 *
 * Modelled on `TwoStage` of the IBM ConTest suite as studied by Symbiosis
 * (2stage, table I) and CoopREP (table 3.2, "two-stage" bug pattern).
 *
 * Bug (two-stage access, atomicity violation over two variables): the reader
 * takes data1 after the first stage of a writer and data2 before the second
 * stage of any writer. Each access is locked, the pair is not.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define WRITERS 2

struct data {
	pthread_mutex_t lock;
	int value;
};

static struct data data1 = { PTHREAD_MUTEX_INITIALIZER, 0 };
static struct data data2 = { PTHREAD_MUTEX_INITIALIZER, 0 };
static int rounds = 1;

static void *twostage(void *arg)
{
	(void)arg;
	for (int i = 1; i <= rounds; i++) {
		pthread_mutex_lock(&data1.lock);
		data1.value = i;
		pthread_mutex_unlock(&data1.lock);

		pthread_mutex_lock(&data2.lock);
		data2.value = data1.value + 1;
		pthread_mutex_unlock(&data2.lock);
	}
	return NULL;
}

static void *reader(void *arg)
{
	int t1, t2;

	(void)arg;
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&data1.lock);
		t1 = data1.value;
		pthread_mutex_unlock(&data1.lock);
		if (t1 == 0)
			continue; /* nothing written yet */

		pthread_mutex_lock(&data2.lock);
		t2 = data2.value;
		pthread_mutex_unlock(&data2.lock);

		assert(t2 == t1 + 1);
	}
	return NULL;
}

/* The argument is the number of rounds of each thread. */
int main(int argc, char **argv)
{
	pthread_t writers[WRITERS];
	pthread_t check;

	if (argc > 1)
		rounds = atoi(argv[1]);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, twostage, NULL);
	pthread_create(&check, NULL, reader, NULL);

	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	pthread_join(check, NULL);
	return 0;
}
