/*
 * shard_bytes: the threads of a packet filter count packets and bytes in shards, so that
 * they do not get into each other's way.
 *
 * Written for this corpus.
 *
 * Bug (lost update): there are fewer shards than threads. The packets are atomic, the bytes
 * are not. Fails when two threads of the same shard add bytes at the same time.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define SHARDS 2
#define THREADS 4

struct shard {
	atomic_int packets;
	int bytes;
};

static struct shard shards[SHARDS];

static void count_packet(struct shard *shard, int length)
{
	atomic_fetch_add(&shard->packets, 1);
	shard->bytes += length;
}

static void *filter(void *arg)
{
	int id = *(int *)arg;

	count_packet(&shards[id % SHARDS], 40);
	count_packet(&shards[id % SHARDS], 100 + id);
	return NULL;
}

int main(void)
{
	static int ids[THREADS];
	pthread_t threads[THREADS];
	int packets = 0;
	int bytes = 0;

	for (int i = 0; i < THREADS; i++) {
		ids[i] = i;
		pthread_create(&threads[i], NULL, filter, &ids[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SHARDS; i++) {
		packets += shards[i].packets;
		bytes += shards[i].bytes;
	}
	printf("%d packets\n", packets);
	assert(bytes == 4 * 140 + 0 + 1 + 2 + 3);
	return 0;
}
