/*
 * turn_signal: four stations of a production line work one after the other; each one waits
 * for its turn and then gives it to the next one.
 *
 * Written for this corpus.
 *
 * Bug (wrong one woken): all stations wait at one condition variable, and only one is woken.
 * Fails when that is not the one whose turn it is: it waits again, and nobody wakes the other.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define STATIONS 4

static struct {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	int turn;
} line = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.moved = PTHREAD_COND_INITIALIZER,
};

static int steps[STATIONS];
static int done;
static atomic_int warm;

static void wait_for_turn(int station)
{
	pthread_mutex_lock(&line.lock);
	while (line.turn != station)
		pthread_cond_wait(&line.moved, &line.lock);
	pthread_mutex_unlock(&line.lock);
}

static void move_on(void)
{
	pthread_mutex_lock(&line.lock);
	line.turn++;
	pthread_cond_signal(&line.moved);
	pthread_mutex_unlock(&line.lock);
}

static void *station(void *arg)
{
	int id = *(int *)arg;

	atomic_fetch_add(&warm, 1);
	wait_for_turn(id);
	steps[done++] = id;
	move_on();
	return NULL;
}

int main(void)
{
	static int ids[STATIONS];
	pthread_t threads[STATIONS];

	for (int i = 0; i < STATIONS; i++) {
		ids[i] = i;
		pthread_create(&threads[i], NULL, station, &ids[i]);
	}
	for (int i = 0; i < STATIONS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < STATIONS; i++)
		assert(steps[i] == i);
	printf("%d stations were warm\n", atomic_load(&warm));
	return 0;
}
