/*
 * airline: the main thread opens ticket counters as long as sales are not
 * stopped; every counter sells one seat, and the one that sells the last seat
 * of the plane stops the sales.
 *
 * Modelled on `airline` of the IBM ConTest suite as studied by Symbiosis
 * (table I), Cortex (table 5.1) and the MaxSMT paper. More tickets are issued
 * than the plane has seats, on the assumption that sales stop in time.
 *
 * Bug (atomicity violation, check then act): main reads StopSales == false
 * and opens one more counter, although the counters that are already open are
 * about to sell the last seat. The plane is oversold.
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

static bool sales_stopped(void)
{
	pthread_mutex_lock(&desk);
	bool stopped = StopSales;
	pthread_mutex_unlock(&desk);
	return stopped;
}

/* One ticket counter. */
static void *sale(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&desk);
	Num_Of_Seats_Sold++;
	if (Num_Of_Seats_Sold == Maximum_Capacity)
		StopSales = true;
	pthread_mutex_unlock(&desk);
	return NULL;
}

int main(void)
{
	pthread_t counters[Num_of_tickets_issued];
	int opened = 0;

	while (opened < Num_of_tickets_issued) {
		if (sales_stopped())
			break;
		pthread_create(&counters[opened], NULL, sale, NULL);
		opened++;
	}
	for (int i = 0; i < opened; i++)
		pthread_join(counters[i], NULL);

	printf("%d of %d seats sold\n", Num_Of_Seats_Sold, Maximum_Capacity);
	assert(Num_Of_Seats_Sold <= Maximum_Capacity);
	return 0;
}
