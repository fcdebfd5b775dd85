/*
 * The fixed twin of philosophers.c: everyone takes the fork with the lower number
 * first, which for the last philosopher is the right one.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define SEATS 5

static pthread_mutex_t fork_at[SEATS];
static int seat[SEATS];
static int meals[SEATS];

static void *philosopher(void *arg)
{
	int me = *(int *)arg;
	int left = me, right = (me + 1) % SEATS;

	pthread_mutex_lock(&fork_at[left < right ? left : right]);
	pthread_mutex_lock(&fork_at[left < right ? right : left]);
	meals[me]++;
	pthread_mutex_unlock(&fork_at[right]);
	pthread_mutex_unlock(&fork_at[left]);
	return NULL;
}

int main(void)
{
	pthread_t threads[SEATS];

	for (int i = 0; i < SEATS; i++) {
		seat[i] = i;
		pthread_mutex_init(&fork_at[i], NULL);
	}
	for (int i = 0; i < SEATS; i++)
		pthread_create(&threads[i], NULL, philosopher, &seat[i]);
	for (int i = 0; i < SEATS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SEATS; i++)
		assert(meals[i] == 1);
	return 0;
}
