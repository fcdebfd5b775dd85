/*
 * The fixed twin of bubblesort.c: one lock for the array, so that no two swaps
 * overlap.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_SIZE 128

static int size = 3;
static int array[MAX_SIZE];
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
	(void)arg;
	for (int end = size - 1; end > 0; end--) {
		for (int i = 0; i < end; i++)
			compare_and_swap(i);
	}
	return NULL;
}

static void *from_right(void *arg)
{
	(void)arg;
	for (int begin = 0; begin < size - 1; begin++) {
		for (int i = size - 2; i >= begin; i--)
			compare_and_swap(i);
	}
	return NULL;
}

static int sum(const int *values, int n)
{
	int total = 0;

	for (int i = 0; i < n; i++)
		total += values[i];
	return total;
}

/* The argument is the number of elements. */
int main(int argc, char **argv)
{
	pthread_t sorters[2];
	int before;

	if (argc > 1)
		size = atoi(argv[1]);
	if (size < 3 || size > MAX_SIZE)
		return 2;
	for (int i = 0; i < size; i++)
		array[i] = size - i;
	before = sum(array, size);
	pthread_create(&sorters[0], NULL, from_left, NULL);
	pthread_create(&sorters[1], NULL, from_right, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(sorters[i], NULL);

	printf("%d %d %d\n", array[0], array[1], array[2]);
	assert(sum(array, size) == before);
	for (int i = 0; i + 1 < size; i++)
		assert(array[i] <= array[i + 1]);
	return 0;
}
