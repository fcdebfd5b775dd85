/*
 * The fixed twin of ticketorder.c: a free seat is looked for and booked in one
 * critical section.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define SEATS 3
#define AGENTS 2
#define CUSTOMERS 2 /* per agent */

struct flight {
	pthread_mutex_t lock;
	atomic_int freeSeats;
	int passengers;
};

static struct flight flight = { PTHREAD_MUTEX_INITIALIZER, SEATS, 0 };
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

	for (int i = 0; i < CUSTOMERS; i++) {
		if (!order(&flight))
			*turned_away = *turned_away + 1;
	}
	return NULL;
}

int main(void)
{
	pthread_t agents[AGENTS];
	int sorry = 0;

	for (int i = 0; i < AGENTS; i++)
		pthread_create(&agents[i], NULL, agent, &refused[i]);
	for (int i = 0; i < AGENTS; i++) {
		pthread_join(agents[i], NULL);
		sorry += refused[i];
	}

	printf("%d on board, %d refused\n", flight.passengers, sorry);
	assert(flight.passengers + sorry == AGENTS * CUSTOMERS);
	return 0;
}
