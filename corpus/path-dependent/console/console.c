/*
 * console: an operator's console takes one command while a reporter thread
 * averages the entries of a table.
 *
 * Ours, for hunting inputs and schedules together; modelled on services that
 * obey a hidden command.
 *
 * Bug (atomicity violation, check then act): the reporter tests in one critical
 * section that there are entries and divides by their number in another. Only
 * the command RESET empties the table, and only between the two does it harm: it
 * takes the one input among all, and the order test, reset, division.
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

static int entries(void)
{
	pthread_mutex_lock(&table.lock);
	int n = table.entries;
	pthread_mutex_unlock(&table.lock);
	return n;
}

static int average(void)
{
	pthread_mutex_lock(&table.lock);
	assert(table.entries > 0);
	int mean = table.sum / table.entries;
	pthread_mutex_unlock(&table.lock);
	return mean;
}

static void *reporter(void *arg)
{
	int *mean = arg;

	if (entries() > 0)
		*mean = average();
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
