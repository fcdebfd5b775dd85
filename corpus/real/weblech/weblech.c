/*
 * weblech: the threads of a web spider take addresses from a queue, download
 * them, and queue the links they find.
 *
 * Modelled on the atomicity violation of WebLech's Spider.run() as studied by
 * CoopREP (table 3.6; seen in 1 % of the runs).
 *
 * Bug (check then act): a spider asks for the size of the queue and takes the
 * next address in two synchronised steps. Another spider takes the last
 * address in between; getNextInQueue() then returns null, and the spider
 * follows it.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

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
static int maxDepth = 1;

static int queueSize(void)
{
	pthread_mutex_lock(&queue.lock);
	int size = queue.size;
	pthread_mutex_unlock(&queue.lock);
	return size;
}

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

	if (depth < maxDepth)
		queueURL(depth + 1);
	free(url);
}

static void *spider(void *arg)
{
	int *count = arg;

	while (queueSize() > 0) {
		downloadURL(getNextInQueue());
		*count = *count + 1;
	}
	return NULL;
}

/* The argument is how deep links are followed. */
int main(int argc, char **argv)
{
	pthread_t spiders[SPIDERS];
	int pages = 0;

	if (argc > 1)
		maxDepth = atoi(argv[1]);
	queueURL(0);
	for (int i = 0; i < SPIDERS; i++)
		pthread_create(&spiders[i], NULL, spider, &downloaded[i]);
	for (int i = 0; i < SPIDERS; i++) {
		pthread_join(spiders[i], NULL);
		pages += downloaded[i];
	}
	assert(pages == maxDepth + 1);
	return 0;
}
