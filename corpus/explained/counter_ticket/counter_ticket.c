/*
 * counter_ticket: two customers draw a number each; the first one's should be 1, the second
 * one's 2.
 *
 * Written for this corpus.
 *
 * Bug (order violation): both do the same at the same line, with a lock, and nobody makes the
 * second wait. Fails when the second customer comes first.
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int drawn;

static void *customer(void *number)
{
	int expected = *(int *)number;
	pthread_mutex_lock(&lock);
	drawn++;
	assert(drawn == expected);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	static int numbers[] = {1, 2};
	pthread_t first, second;
	pthread_create(&first, NULL, customer, &numbers[0]);
	pthread_create(&second, NULL, customer, &numbers[1]);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	return 0;
}
