/* The fixed twin of sync/piper: rounds are the passengers of each binder; who fills the plane waits while it is full. */
#include <assert.h>
#include <pthread.h>
#include "rounds.h"

#define SEATS 36
#define BINDERS 4

struct plane {
	pthread_mutex_t monitor;
	pthread_cond_t changed;
	unsigned queue[SEATS];
	int waiting; /* passengers in the queue */
	int first;
};

static struct plane plane = {
	.monitor = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};
static unsigned bound[BINDERS]; /* whom each binder got: the sum of their numbers */

static void fillPlane(unsigned passenger)
{
	pthread_mutex_lock(&plane.monitor);
	while (plane.waiting == SEATS)
		pthread_cond_wait(&plane.changed, &plane.monitor);
	plane.queue[(plane.first + plane.waiting) % SEATS] = passenger;
	plane.waiting++;
	pthread_cond_broadcast(&plane.changed);
	pthread_mutex_unlock(&plane.monitor);
}

static unsigned bindPassenger(void)
{
	pthread_mutex_lock(&plane.monitor);
	while (plane.waiting == 0)
		pthread_cond_wait(&plane.changed, &plane.monitor);
	unsigned passenger = plane.queue[plane.first];
	plane.queue[plane.first] = 0;
	plane.first = (plane.first + 1) % SEATS;
	if (plane.waiting-- == SEATS)
		pthread_cond_broadcast(&plane.changed);
	pthread_mutex_unlock(&plane.monitor);
	return passenger;
}

static void *filler(void *arg)
{
	unsigned value = 1;

	(void)arg;
	for (int i = 1; i <= BINDERS * rounds; i++) {
		fillPlane((unsigned)i);
		value = compute(value, 8);
	}
	return (void *)(size_t)value;
}

static void *binder(void *arg)
{
	unsigned *mine = arg, value = 2;

	for (int i = 0; i < rounds; i++) {
		*mine += bindPassenger();
		value = compute(value, 10);
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	pthread_t fill;
	pthread_t bind[BINDERS];
	unsigned sum = 0, expected = 0;

	take_arguments(argc, argv);
	for (int i = 0; i < BINDERS; i++)
		pthread_create(&bind[i], NULL, binder, &bound[i]);
	pthread_create(&fill, NULL, filler, NULL);
	pthread_join(fill, NULL);
	for (int i = 0; i < BINDERS; i++)
		pthread_join(bind[i], NULL);
	for (int i = 0; i < BINDERS; i++)
		sum += bound[i];
	for (int i = 1; i <= BINDERS * rounds; i++)
		expected += (unsigned)i;
	assert(sum == expected);
	return 0;
}
