/*
 * missing_join: main starts two workers that fill the halves of a table, and
 * sums the table up.
 *
 * Modelled on programs that start threads and forget that starting is not
 * waiting; where the work is short, it often goes well.
 *
 * Bug (assertion): main reads the table before a worker has filled its half.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#define WORKERS 2
#define EACH 2

static atomic_int table[WORKERS * EACH];

static void *fill(void *half)
{
	atomic_int *entries = half;

	for (int i = 0; i < EACH; i++)
		entries[i] = 1;
	return NULL;
}

int main(void)
{
	pthread_t workers[WORKERS];
	int sum = 0;

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, fill, &table[i * EACH]);
	for (int i = 0; i < WORKERS * EACH; i++)
		sum += table[i];
	assert(sum == WORKERS * EACH);
	printf("%d\n", sum);
	return 0;
}
