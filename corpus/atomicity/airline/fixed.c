/*
 * The fixed twin of airline.c: whether sales have stopped is tested in the
 * critical section that sells the seat.
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

/* One ticket counter: sells nothing once sales have stopped. */
static void *sale(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&desk);
	int seats = !StopSales;

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
