/*
 * The fixed twin of batchsize.c: the total is read and written in one critical
 * section.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define LARGE 1000

extern int __VERIFIER_nondet_int(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned size;
static int done;

static void *work(void *arg)
{
	int *large = arg;

	if (size > LARGE)
		*large = 1;
	pthread_mutex_lock(&lock);
	done++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int large[2] = { 0, 0 };

	size = (unsigned)__VERIFIER_nondet_int();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, &large[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert(large[0] == large[1]);
	assert(done == 2);
	return 0;
}
