/*
 * page_cache: threads ask a cache for pages; a page that is not there is read from the disk
 * and put into the cache. No page should be read twice.
 *
 * Written for this corpus.
 *
 * Bug (check then act): the look into the cache and the insertion each lock, but not both
 * together. Fails when two threads miss the same page before one of them has inserted it.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGES 3
#define THREADS 5

struct page {
	int number;
	int checksum;
};

static struct {
	pthread_mutex_t lock;
	struct page *pages[PAGES];
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;
static int disk_reads;

static struct page *read_page(int number)
{
	struct page *page = malloc(sizeof *page);

	pthread_mutex_lock(&disk_lock);
	disk_reads++;
	pthread_mutex_unlock(&disk_lock);
	page->number = number;
	page->checksum = number * 7;
	return page;
}

static struct page *lookup(int number)
{
	pthread_mutex_lock(&cache.lock);
	struct page *page = cache.pages[number];
	pthread_mutex_unlock(&cache.lock);
	return page;
}

static void insert(struct page *page)
{
	pthread_mutex_lock(&cache.lock);
	cache.pages[page->number] = page;
	pthread_mutex_unlock(&cache.lock);
}

static void *reader(void *arg)
{
	int number = *(int *)arg;
	struct page *page = lookup(number);

	if (page == NULL) {
		page = read_page(number);
		insert(page);
	}
	assert(page->checksum == number * 7);
	return NULL;
}

int main(void)
{
	static int wanted[THREADS] = { 0, 1, 0, 2, 1 };
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, reader, &wanted[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d reads\n", disk_reads);
	assert(disk_reads == PAGES);
	return 0;
}
