/*
 * bbuf: producers and consumers share a bounded buffer, a ring of `size` slots
 * of which one always stays free (empty is head == rear).
 *
 * Modelled on `bbuf` of the Inspect suite as studied by Symbiosis (table I,
 * figure 6b) and CLAP.
 *
 * Every operation takes the buffer's lock, so there is no data race. But a
 * consumer asks bounded_buf_is_empty() and calls bounded_buf_get() in two
 * critical sections that must be one.
 *
 * Bug (atomicity violation): one item is there, both consumers see that the
 * buffer is not empty, the first takes the item and moves head, the second
 * gets from an empty buffer and violates its invariant.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX_THREADS 16 /* of each kind */

typedef struct bounded_buf {
	pthread_mutex_t mutex;
	pthread_cond_t not_full;
	int size;
	int head; /* next item to get */
	int rear; /* next free slot */
	int *buf;
} bounded_buf_t;

static bounded_buf_t buffer;
static int taken[MAX_THREADS]; /* what each consumer got, written by itself only */
static int num_producers = 1;
static int num_consumers = 2;
static int puts_each = 4;
static int tries_each = 2;

static void bounded_buf_init(bounded_buf_t *bbuf, int size)
{
	pthread_mutex_init(&bbuf->mutex, NULL);
	pthread_cond_init(&bbuf->not_full, NULL);
	bbuf->size = size;
	bbuf->head = 0;
	bbuf->rear = 0;
	bbuf->buf = calloc(size, sizeof *bbuf->buf);
}

static void bounded_buf_destroy(bounded_buf_t *bbuf)
{
	free(bbuf->buf);
	pthread_cond_destroy(&bbuf->not_full);
	pthread_mutex_destroy(&bbuf->mutex);
}

static void bounded_buf_put(bounded_buf_t *bbuf, int item)
{
	pthread_mutex_lock(&bbuf->mutex);
	while ((bbuf->rear + 1) % bbuf->size == bbuf->head)
		pthread_cond_wait(&bbuf->not_full, &bbuf->mutex);
	bbuf->buf[bbuf->rear] = item;
	bbuf->rear = (bbuf->rear + 1) % bbuf->size;
	pthread_mutex_unlock(&bbuf->mutex);
}

static bool bounded_buf_is_empty(bounded_buf_t *bbuf)
{
	pthread_mutex_lock(&bbuf->mutex);
	bool empty = bbuf->head == bbuf->rear;
	pthread_mutex_unlock(&bbuf->mutex);
	return empty;
}

static int bounded_buf_get(bounded_buf_t *bbuf)
{
	pthread_mutex_lock(&bbuf->mutex);
	assert(bbuf->head != bbuf->rear);
	int item = bbuf->buf[bbuf->head];
	bbuf->head = (bbuf->head + 1) % bbuf->size;
	pthread_cond_signal(&bbuf->not_full);
	pthread_mutex_unlock(&bbuf->mutex);
	return item;
}

static void *producer(void *arg)
{
	(void)arg;
	for (int i = 1; i <= puts_each; i++)
		bounded_buf_put(&buffer, i);
	return NULL;
}

static void *consumer(void *arg)
{
	int *sum = arg;

	for (int i = 0; i < tries_each; i++) {
		if (!bounded_buf_is_empty(&buffer))
			*sum += bounded_buf_get(&buffer);
	}
	return NULL;
}

/*
 * The arguments are the number of producers, of consumers, of items that a
 * producer puts, and how often a consumer tries. There is room for all items.
 */
int main(int argc, char **argv)
{
	pthread_t producers[MAX_THREADS];
	pthread_t consumers[MAX_THREADS];
	int sum = 0;

	if (argc > 4) {
		num_producers = atoi(argv[1]);
		num_consumers = atoi(argv[2]);
		puts_each = atoi(argv[3]);
		tries_each = atoi(argv[4]);
	}
	if (num_producers > MAX_THREADS || num_consumers > MAX_THREADS)
		return 2;
	bounded_buf_init(&buffer, num_producers * puts_each + 1);
	for (int i = 0; i < num_producers; i++)
		pthread_create(&producers[i], NULL, producer, NULL);
	for (int i = 0; i < num_consumers; i++)
		pthread_create(&consumers[i], NULL, consumer, &taken[i]);
	for (int i = 0; i < num_producers; i++)
		pthread_join(producers[i], NULL);
	for (int i = 0; i < num_consumers; i++) {
		pthread_join(consumers[i], NULL);
		sum += taken[i];
	}

	/* Whatever the consumers missed is still there. */
	while (!bounded_buf_is_empty(&buffer))
		sum += bounded_buf_get(&buffer);
	assert(sum == num_producers * puts_each * (puts_each + 1) / 2);
	bounded_buf_destroy(&buffer);
	return 0;
}
