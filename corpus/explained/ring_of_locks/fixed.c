/*
 * The fixed twin of ring_of_locks.c: the journal takes its memory before it locks.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;

static int pages = 8, blocks = 16, records;
static atomic_int operations;

static void *swap_out(void *arg)
{
	pthread_mutex_lock(&heap);
	pages++;
	pthread_mutex_lock(&disk);
	blocks--;
	pthread_mutex_unlock(&disk);
	pthread_mutex_unlock(&heap);
	atomic_fetch_add(&operations, 1);
	return arg;
}

static void *sync_blocks(void *arg)
{
	pthread_mutex_lock(&disk);
	blocks++;
	pthread_mutex_lock(&journal);
	records++;
	pthread_mutex_unlock(&journal);
	pthread_mutex_unlock(&disk);
	atomic_fetch_add(&operations, 1);
	return arg;
}

static void *checkpoint(void *arg)
{
	pthread_mutex_lock(&heap);
	pages--;
	pthread_mutex_unlock(&heap);
	pthread_mutex_lock(&journal);
	records++;
	pthread_mutex_unlock(&journal);
	atomic_fetch_add(&operations, 1);
	return arg;
}

int main(void)
{
	pthread_t threads[3];

	pthread_create(&threads[0], NULL, swap_out, NULL);
	pthread_create(&threads[1], NULL, sync_blocks, NULL);
	pthread_create(&threads[2], NULL, checkpoint, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d pages, %d blocks, %d records\n", pages, blocks, records);
	return 0;
}
