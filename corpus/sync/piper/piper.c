/*
 * piper: one thread fills a plane with passengers, others seat them; they
 * meet in a short queue guarded by a monitor.
 *
 * Modelled on `Piper` of the IBM ConTest suite as studied by CoopREP (table
 * 3.2, "missing condition for wait") and Cortex (table 5.1).
 *
 * Bug (ordering violation): a thread that waited does not test its condition
 * again ("if" instead of "while"). A consumer waits for a passenger, the
 * producer adds one and wakes it; before the woken consumer gets the monitor
 * back, the other consumer takes the passenger, and the first finds nobody. Each
 * passenger wakes one consumer, so nothing goes wrong where both of them wait:
 * one has to wait and the other must not.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define SEATS 2
#define BINDERS 2
#define NOBODY 0

struct plane {
	pthread_mutex_t monitor;
	pthread_cond_t changed;
	int queue[SEATS];
	int waiting; /* passengers in the queue */
	int first;
};

static struct plane plane = {
	.monitor = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};
static int bound[BINDERS]; /* whom each binder got */

static void fillPlane(int passenger)
{
	pthread_mutex_lock(&plane.monitor);
	plane.queue[(plane.first + plane.waiting) % SEATS] = passenger;
	plane.waiting++;
	pthread_cond_signal(&plane.changed);
	pthread_mutex_unlock(&plane.monitor);
}

static int bindPassenger(void)
{
	pthread_mutex_lock(&plane.monitor);
	if (plane.waiting == 0)
		pthread_cond_wait(&plane.changed, &plane.monitor);
	assert(plane.waiting > 0);
	int passenger = plane.queue[plane.first];
	plane.queue[plane.first] = NOBODY;
	plane.first = (plane.first + 1) % SEATS;
	plane.waiting--;
	pthread_mutex_unlock(&plane.monitor);
	return passenger;
}

static void *filler(void *arg)
{
	(void)arg;
	for (int i = 1; i <= BINDERS; i++)
		fillPlane(i);
	return NULL;
}

static void *binder(void *arg)
{
	int *mine = arg;

	*mine = bindPassenger();
	return NULL;
}

int main(void)
{
	pthread_t fill;
	pthread_t bind[BINDERS];

	for (int i = 0; i < BINDERS; i++)
		pthread_create(&bind[i], NULL, binder, &bound[i]);
	pthread_create(&fill, NULL, filler, NULL);
	pthread_join(fill, NULL);
	for (int i = 0; i < BINDERS; i++)
		pthread_join(bind[i], NULL);

	printf("bound %d and %d\n", bound[0], bound[1]);
	assert(bound[0] + bound[1] == 3);
	return 0;
}
