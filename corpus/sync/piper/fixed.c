/*
 * The fixed twin of piper.c: whoever waited tests the condition again.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_SEATS 128
#define MAX_BINDERS 8
#define NOBODY 0

struct plane {
	pthread_mutex_t monitor;
	pthread_cond_t changed;
	int queue[MAX_SEATS];
	int waiting; /* passengers in the queue */
	int first;
};

static struct plane plane = {
	.monitor = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};
static int bound[MAX_BINDERS]; /* whom each binder got: the sum of their numbers */
static int binders = 2;
static int seats = 2; /* one for each passenger */

static void fillPlane(int passenger)
{
	pthread_mutex_lock(&plane.monitor);
	plane.queue[(plane.first + plane.waiting) % seats] = passenger;
	plane.waiting++;
	pthread_cond_signal(&plane.changed);
	pthread_mutex_unlock(&plane.monitor);
}

static int bindPassenger(void)
{
	pthread_mutex_lock(&plane.monitor);
	while (plane.waiting == 0)
		pthread_cond_wait(&plane.changed, &plane.monitor);
	assert(plane.waiting > 0);
	int passenger = plane.queue[plane.first];
	plane.queue[plane.first] = NOBODY;
	plane.first = (plane.first + 1) % seats;
	plane.waiting--;
	pthread_mutex_unlock(&plane.monitor);
	return passenger;
}

static void *filler(void *arg)
{
	(void)arg;
	for (int i = 1; i <= seats; i++)
		fillPlane(i);
	return NULL;
}

static void *binder(void *arg)
{
	int *mine = arg;

	for (int i = 0; i < seats / binders; i++)
		*mine += bindPassenger();
	return NULL;
}

/* The arguments are the number of binders, and of passengers of each. */
int main(int argc, char **argv)
{
	pthread_t fill;
	pthread_t bind[MAX_BINDERS];
	int sum = 0;

	if (argc > 2) {
		binders = atoi(argv[1]);
		seats = binders * atoi(argv[2]);
	}
	if (binders > MAX_BINDERS || seats > MAX_SEATS)
		return 2;
	for (int i = 0; i < binders; i++)
		pthread_create(&bind[i], NULL, binder, &bound[i]);
	pthread_create(&fill, NULL, filler, NULL);
	pthread_join(fill, NULL);
	for (int i = 0; i < binders; i++)
		pthread_join(bind[i], NULL);
	for (int i = 0; i < binders; i++)
		sum += bound[i];

	printf("bound %d and %d\n", bound[0], bound[1]);
	assert(sum == seats * (seats + 1) / 2);
	return 0;
}
