/*
 * The fixed twin of atomic_seats.c: a seat is taken only from the number that
 * was tested.
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
	int seats = atomic_load(&flight->free_seats);

	while (seats > 0) {
		if (atomic_compare_exchange_weak(&flight->free_seats, &seats, seats - 1)) {
			atomic_fetch_add(&flight->sold, 1);
			return 1;
		}
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
