/* The fixed twin of real/weblech: rounds are how deep links are followed. */
#include <assert.h>
#include <pthread.h>
#include "rounds.h"

#define SPIDERS 2

struct URLToDownload {
	struct URLToDownload *next;
	int depth;
};

static struct {
	pthread_mutex_t lock;
	struct URLToDownload *first;
	int size;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int downloaded[SPIDERS];

static void queueURL(int depth)
{
	struct URLToDownload *url = malloc(sizeof *url);

	url->depth = depth;
	pthread_mutex_lock(&queue.lock);
	url->next = queue.first;
	queue.first = url;
	queue.size++;
	pthread_mutex_unlock(&queue.lock);
}

static struct URLToDownload *getNextInQueue(void)
{
	struct URLToDownload *url;

	pthread_mutex_lock(&queue.lock);
	url = queue.first;
	if (url != NULL) {
		queue.first = url->next;
		queue.size--;
	}
	pthread_mutex_unlock(&queue.lock);
	return url;
}

/* A page at a depth below the limit links to one more page. */
static void downloadURL(struct URLToDownload *url)
{
	int depth = url->depth;

	if (depth < rounds)
		queueURL(depth + 1);
	free(url);
}

static void *spider(void *arg)
{
	int *count = arg;
	unsigned value = 1;

	for (;;) {
		struct URLToDownload *url = getNextInQueue();

		if (url == NULL)
			break;
		downloadURL(url);
		*count = *count + 1;
		value = compute(value, 14);
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	pthread_t spiders[SPIDERS];
	int pages = 0;

	take_arguments(argc, argv);
	queueURL(0);
	for (int i = 0; i < SPIDERS; i++)
		pthread_create(&spiders[i], NULL, spider, &downloaded[i]);
	for (int i = 0; i < SPIDERS; i++) {
		pthread_join(spiders[i], NULL);
		pages += downloaded[i];
	}
	assert(pages == rounds + 1);
	return 0;
}
