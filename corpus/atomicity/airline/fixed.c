/*
 * The fixed twin of airline.c: whether sales have stopped is tested in the
 * critical section that sells the seat.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define Num_of_tickets_issued 3
#define Maximum_Capacity 2

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

int main(void)
{
	pthread_t counters[Num_of_tickets_issued];

	for (int i = 0; i < Num_of_tickets_issued; i++)
		pthread_create(&counters[i], NULL, sale, NULL);
	for (int i = 0; i < Num_of_tickets_issued; i++)
		pthread_join(counters[i], NULL);

	printf("%d of %d seats sold\n", Num_Of_Seats_Sold, Maximum_Capacity);
	assert(Num_Of_Seats_Sold <= Maximum_Capacity);
	return 0;
}
