/*
 * The fixed twin of lock_chain.c: the completion takes the inode before the device, so
 * that all go down the layers.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct layer {
	pthread_mutex_t lock;
	int changes;
};

static struct layer inode = { PTHREAD_MUTEX_INITIALIZER, 0 };
static struct layer journal = { PTHREAD_MUTEX_INITIALIZER, 0 };
static struct layer pages = { PTHREAD_MUTEX_INITIALIZER, 0 };
static struct layer device = { PTHREAD_MUTEX_INITIALIZER, 0 };

static void *write_file(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&inode.lock);
	inode.changes++;
	pthread_mutex_lock(&journal.lock);
	journal.changes++;
	pthread_mutex_unlock(&journal.lock);
	pthread_mutex_unlock(&inode.lock);
	return NULL;
}

static void *commit(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&journal.lock);
	journal.changes++;
	pthread_mutex_lock(&pages.lock);
	pages.changes++;
	pthread_mutex_unlock(&pages.lock);
	pthread_mutex_unlock(&journal.lock);
	return NULL;
}

static void *flush(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&pages.lock);
	pages.changes++;
	pthread_mutex_lock(&device.lock);
	device.changes++;
	pthread_mutex_unlock(&device.lock);
	pthread_mutex_unlock(&pages.lock);
	return NULL;
}

static void *complete(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&inode.lock);
	inode.changes++;
	pthread_mutex_lock(&device.lock);
	device.changes++;
	pthread_mutex_unlock(&device.lock);
	pthread_mutex_unlock(&inode.lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	pthread_create(&threads[0], NULL, write_file, NULL);
	pthread_create(&threads[1], NULL, commit, NULL);
	pthread_create(&threads[2], NULL, flush, NULL);
	pthread_create(&threads[3], NULL, complete, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert(inode.changes + journal.changes + pages.changes + device.changes == 8);
	return 0;
}
