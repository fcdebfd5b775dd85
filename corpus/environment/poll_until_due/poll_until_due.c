/*
 * poll_until_due: a sensor takes 100 ms to measure. Who asks for a measurement draws a progress
 * bar for that long, by looking at the clock in a loop, and then takes the value.
 *
 * Written for this corpus: a delay that is meant to be long enough, on both sides.
 *
 * Bug (order by time): the sleep of the sensor is over at the very moment for which the loop
 * waits. If the loop ends first, the value is not there.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#define MEASURING_MS 100

static atomic_int celsius;
static atomic_bool is_measured;
static struct timespec due;

static int is_before(const struct timespec *end)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec != end->tv_sec)
		return now.tv_sec < end->tv_sec;
	return now.tv_nsec < end->tv_nsec;
}

static void *sensor(void *arg)
{
	usleep(MEASURING_MS * 1000);
	celsius = 21;
	is_measured = true;
	return arg;
}

int main(void)
{
	pthread_t thread;

	clock_gettime(CLOCK_MONOTONIC, &due);
	due.tv_nsec += MEASURING_MS * 1000000L;
	if (due.tv_nsec >= 1000000000L) {
		due.tv_sec++;
		due.tv_nsec -= 1000000000L;
	}
	pthread_create(&thread, NULL, sensor, NULL);
	while (is_before(&due))
		;
	assert(is_measured);
	assert(celsius == 21);
	pthread_join(thread, NULL);
	return 0;
}
