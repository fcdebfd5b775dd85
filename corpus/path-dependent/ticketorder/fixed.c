/*
 * The fixed twin of ticketorder.c: a free seat is looked for and booked in one
 * critical section.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_AGENTS 8

struct flight {
	pthread_mutex_t lock;
	atomic_int freeSeats;
	int passengers;
};

static struct flight flight = { PTHREAD_MUTEX_INITIALIZER, 3, 0 };
static int refused[MAX_AGENTS];
static int agents = 2;
static int customers = 2; /* per agent; one more than there are seats in all */

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

	for (int i = 0; i < customers; i++) {
		if (!order(&flight))
			*turned_away = *turned_away + 1;
	}
	return NULL;
}

/* The arguments are the number of agents, and of customers of each. */
int main(int argc, char **argv)
{
	pthread_t threads[MAX_AGENTS];
	int sorry = 0;

	if (argc > 2) {
		agents = atoi(argv[1]);
		customers = atoi(argv[2]);
		flight.freeSeats = agents * customers - 1;
	}
	if (agents > MAX_AGENTS)
		return 2;
	for (int i = 0; i < agents; i++)
		pthread_create(&threads[i], NULL, agent, &refused[i]);
	for (int i = 0; i < agents; i++) {
		pthread_join(threads[i], NULL);
		sorry += refused[i];
	}

	printf("%d on board, %d refused\n", flight.passengers, sorry);
	assert(flight.passengers + sorry == agents * customers);
	return 0;
}
