/* The fixed twin of path-dependent/ticketorder: rounds are the customers of each agent. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include "rounds.h"

#define AGENTS 4

struct flight {
	pthread_mutex_t lock;
	atomic_int freeSeats;
	int passengers;
};

static struct flight flight = { PTHREAD_MUTEX_INITIALIZER, 3, 0 };
static int refused[AGENTS];

/* The caller holds the lock of the flight. */
static void book(struct flight *f)
{
	f->freeSeats = f->freeSeats - 1;
	f->passengers++;
	assert(f->freeSeats >= 0);
}

static int order(struct flight *f)
{
	int booked = 0;

	pthread_mutex_lock(&f->lock);
	if (f->freeSeats > 0) {
		book(f);
		booked = 1;
	}
	pthread_mutex_unlock(&f->lock);
	return booked;
}

static void *agent(void *arg)
{
	int *turned_away = arg;
	unsigned value = 1;

	for (int i = 0; i < rounds; i++) {
		if (!order(&flight))
			*turned_away = *turned_away + 1;
		value = compute(value, 7);
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	pthread_t threads[AGENTS];
	int sorry = 0;

	take_arguments(argc, argv);
	flight.freeSeats = AGENTS * rounds - 1;
	for (int i = 0; i < AGENTS; i++)
		pthread_create(&threads[i], NULL, agent, &refused[i]);
	for (int i = 0; i < AGENTS; i++) {
		pthread_join(threads[i], NULL);
		sorry += refused[i];
	}
	assert(flight.passengers + sorry == AGENTS * rounds);
	return 0;
}
