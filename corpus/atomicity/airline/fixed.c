/*
 * The fixed twin of airline.c: a counter sells a seat only if there is one left,
 * tested in the critical section that sells it. Opening a counter too many no
 * longer matters.
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
	if (Num_Of_Seats_Sold < Maximum_Capacity)
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
