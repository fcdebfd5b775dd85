/*
 * The fixed twin of page_cache.c: the lock of the cache is held while a page is read.
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

static void *reader(void *arg)
{
	int number = *(int *)arg;

	pthread_mutex_lock(&cache.lock);
	struct page *page = cache.pages[number];
	if (page == NULL)
		page = cache.pages[number] = read_page(number);
	pthread_mutex_unlock(&cache.lock);
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
