/*
 * atomic_tickets: two counters hand out the numbers of a queue. The number is
 * a C11 atomic, but it is taken in two operations.
 *
 * Modelled on a common belief: what is made of atomic operations is atomic.
 * There is no data race here, and no tool that looks for one says a word.
 *
 * Bug (assertion): both counters load the same number before either has stored
 * the next one, so two customers hold one ticket.
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
	int mine = atomic_load(&next_ticket);

	atomic_store(&next_ticket, mine + 1);
	return mine;
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
