/*
 * shared_blob: two readers and their creator share a blob that the last of them frees.
 *
 * Written for this corpus, after reference counts.
 *
 * Bug (double free): who lets go counts down in one step and looks in another whether nobody is
 * left. Fails when two count down before either looks: both see that nobody is left.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define READERS 2

struct blob {
	atomic_int users;
	int bytes;
};

static atomic_int total;

static void release(struct blob *blob)
{
	atomic_fetch_sub(&blob->users, 1);
	if (atomic_load(&blob->users) == 0)
		free(blob);
}

static void *reader(void *arg)
{
	struct blob *blob = arg;

	atomic_fetch_add(&total, blob->bytes);
	release(blob);
	return NULL;
}

int main(void)
{
	struct blob *blob = malloc(sizeof *blob);
	pthread_t readers[READERS];

	if (!blob)
		return 0;
	atomic_init(&blob->users, READERS + 1);
	blob->bytes = 12;
	for (int i = 0; i < READERS; i++)
		pthread_create(&readers[i], NULL, reader, blob);
	release(blob);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	printf("read %d\n", atomic_load(&total));
	return 0;
}
