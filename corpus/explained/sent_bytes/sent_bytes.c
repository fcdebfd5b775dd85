/*
 * sent_bytes: senders put messages into a queue and count their bytes; a receiver takes the
 * messages out and frees them.
 *
 * Written for this corpus.
 *
 * Bug (use after free): a sender reads the length of a message after it has given it away.
 * Fails when the receiver has freed the message by then.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SENDERS 2

struct message {
	struct message *next;
	int length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static struct message *queue;
static atomic_int sent, received;

static void put(struct message *m)
{
	pthread_mutex_lock(&lock);
	m->next = queue;
	queue = m;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static struct message *take(void)
{
	pthread_mutex_lock(&lock);
	while (queue == NULL)
		pthread_cond_wait(&filled, &lock);
	struct message *m = queue;
	queue = m->next;
	pthread_mutex_unlock(&lock);
	return m;
}

static void *sender(void *arg)
{
	struct message *m = malloc(sizeof *m);

	m->length = *(int *)arg;
	put(m);
	atomic_fetch_add(&sent, m->length);
	return NULL;
}

static void *receiver(void *arg)
{
	for (int i = 0; i < SENDERS; i++) {
		struct message *m = take();
		atomic_fetch_add(&received, m->length);
		free(m);
	}
	return arg;
}

int main(void)
{
	static int lengths[SENDERS] = { 12, 30 };
	pthread_t threads[SENDERS + 1];

	pthread_create(&threads[SENDERS], NULL, receiver, NULL);
	for (int i = 0; i < SENDERS; i++)
		pthread_create(&threads[i], NULL, sender, &lengths[i]);
	for (int i = 0; i <= SENDERS; i++)
		pthread_join(threads[i], NULL);
	assert(sent == received);
	return 0;
}
