/*
 * The fixed twin of atomic_tickets.c: the number is taken by one operation.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define COUNTERS 2

static _Atomic int next_ticket = 1;
static atomic_int handed_out;
static int ticket[COUNTERS];

static int take_ticket(void)
{
	return atomic_fetch_add(&next_ticket, 1);
}

static void *counter(void *number)
{
	int *mine = number;

	*mine = take_ticket();
	atomic_fetch_add(&handed_out, 1);
	return NULL;
}

int main(void)
{
	pthread_t counters[COUNTERS];

	for (int i = 0; i < COUNTERS; i++)
		pthread_create(&counters[i], NULL, counter, &ticket[i]);
	for (int i = 0; i < COUNTERS; i++)
		pthread_join(counters[i], NULL);
	assert(handed_out == COUNTERS);
	assert(ticket[0] != ticket[1]);
	return 0;
}
