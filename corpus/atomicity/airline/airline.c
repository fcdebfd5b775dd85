/*
 * airline: the main thread opens a ticket counter for every ticket; a counter
 * sells one seat unless sales have stopped, and the sale of the last seat of the
 * plane stops them.
 *
 * Modelled on `airline` of the IBM ConTest suite as studied by Symbiosis
 * (table I), Cortex (table 5.1, schedule-dependent only) and the MaxSMT paper.
 * More tickets are issued than the plane has seats, on the assumption that sales
 * stop in time.
 *
 * Bug (atomicity violation, check then act): a counter reads StopSales == false
 * and sells its seat in a second critical section, although the other counters
 * are about to sell the last one. The plane is oversold. What was read is added
 * and not branched on, so all runs take the same path.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_TICKETS 64

static int Num_of_tickets_issued = 3;
static int Maximum_Capacity = 2; /* one less */
static int Num_Of_Seats_Sold;
static bool StopSales;
static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;

/* How many seats a counter may sell: none once sales have stopped. */
static int seats_on_offer(void)
{
	pthread_mutex_lock(&desk);
	int seats = !StopSales;
	pthread_mutex_unlock(&desk);
	return seats;
}

/* One ticket counter. */
static void *sale(void *arg)
{
	(void)arg;
	int seats = seats_on_offer();

	pthread_mutex_lock(&desk);
	Num_Of_Seats_Sold += seats;
	StopSales = Num_Of_Seats_Sold >= Maximum_Capacity;
	pthread_mutex_unlock(&desk);
	return NULL;
}

/* The argument is the number of tickets issued. */
int main(int argc, char **argv)
{
	pthread_t counters[MAX_TICKETS];

	if (argc > 1) {
		Num_of_tickets_issued = atoi(argv[1]);
		Maximum_Capacity = Num_of_tickets_issued - 1;
	}
	if (Num_of_tickets_issued > MAX_TICKETS)
		return 2;
	for (int i = 0; i < Num_of_tickets_issued; i++)
		pthread_create(&counters[i], NULL, sale, NULL);
	for (int i = 0; i < Num_of_tickets_issued; i++)
		pthread_join(counters[i], NULL);

	printf("%d of %d seats sold\n", Num_Of_Seats_Sold, Maximum_Capacity);
	assert(Num_Of_Seats_Sold <= Maximum_Capacity);
	return 0;
}
