/*
 * atomic_seats: three booking agents sell the last two seats of a flight.
 *
 * Modelled on resource counters of servers (slots, credits, tokens) that became
 * atomic when the lock around them was found to be slow: the test and the
 * subtraction are one operation each, but two of them.
 *
 * Bug (assertion): an agent sees one seat left; before it takes it, another
 * agent sells that seat; the number of free seats goes below zero.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define AGENTS 3
#define SEATS 2

struct flight {
	atomic_int free_seats;
	atomic_int sold;
};

static struct flight evening = { SEATS, 0 };

static int book(struct flight *flight)
{
	if (atomic_load(&flight->free_seats) > 0) {
		atomic_fetch_sub(&flight->free_seats, 1);
		atomic_fetch_add(&flight->sold, 1);
		return 1;
	}
	return 0;
}

static void *agent(void *flight)
{
	book(flight);
	return NULL;
}

int main(void)
{
	pthread_t agents[AGENTS];

	for (int i = 0; i < AGENTS; i++)
		pthread_create(&agents[i], NULL, agent, &evening);
	for (int i = 0; i < AGENTS; i++)
		pthread_join(agents[i], NULL);
	assert(atomic_load(&evening.free_seats) >= 0);
	assert(atomic_load(&evening.sold) == SEATS);
	return 0;
}
