/*
 * The fixed twin of console.c: the reporter tests and divides in one critical
 * section.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define RESET 4711

extern int __VERIFIER_nondet_int(void);

struct table {
	pthread_mutex_t lock;
	int entries;
	int sum;
};

static struct table table = { PTHREAD_MUTEX_INITIALIZER, 3, 12 };

/* The caller holds the lock of the table. */
static int average(void)
{
	assert(table.entries > 0);
	return table.sum / table.entries;
}

static void *reporter(void *arg)
{
	int *mean = arg;

	pthread_mutex_lock(&table.lock);
	if (table.entries > 0)
		*mean = average();
	pthread_mutex_unlock(&table.lock);
	return NULL;
}

static void *console(void *arg)
{
	const int *command = arg;

	if (*command == RESET) {
		pthread_mutex_lock(&table.lock);
		table.entries = 0;
		table.sum = 0;
		pthread_mutex_unlock(&table.lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int command = __VERIFIER_nondet_int();
	int mean = 0;

	pthread_create(&threads[0], NULL, reporter, &mean);
	pthread_create(&threads[1], NULL, console, &command);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);

	assert(mean == 0 || mean == 4);
	return 0;
}
