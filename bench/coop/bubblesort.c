/* The fixed twin of atomicity/bubblesort: rounds are the numbers to sort. */
#include <assert.h>
#include <pthread.h>
#include "rounds.h"

#define MOST 16384

static int array[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void compare_and_swap(int i)
{
	pthread_mutex_lock(&lock);
	int left = array[i];
	int right = array[i + 1];
	if (left > right) {
		array[i] = right;
		array[i + 1] = left;
	}
	pthread_mutex_unlock(&lock);
}

static void *from_left(void *arg)
{
	unsigned value = 1;

	(void)arg;
	for (int end = rounds - 1; end > 0; end--) {
		for (int i = 0; i < end; i++) {
			compare_and_swap(i);
			value = compute(value, 4);
		}
	}
	return (void *)(size_t)value;
}

static void *from_right(void *arg)
{
	unsigned value = 2;

	(void)arg;
	for (int begin = 0; begin < rounds - 1; begin++) {
		for (int i = rounds - 2; i >= begin; i--) {
			compare_and_swap(i);
			value = compute(value, 4);
		}
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	pthread_t sorters[2];

	take_arguments(argc, argv);
	if (rounds > MOST)
		return 2;
	for (int i = 0; i < rounds; i++)
		array[i] = rounds - i;
	pthread_create(&sorters[0], NULL, from_left, NULL);
	pthread_create(&sorters[1], NULL, from_right, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(sorters[i], NULL);
	for (int i = 0; i < rounds; i++)
		assert(array[i] == i + 1);
	return 0;
}
