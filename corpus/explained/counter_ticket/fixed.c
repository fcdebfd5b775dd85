/*
 * The fixed twin of counter_ticket.c: the second customer comes when the first one has left.
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
	pthread_join(first, NULL);
	pthread_create(&second, NULL, customer, &numbers[1]);
	pthread_join(second, NULL);
	return 0;
}
