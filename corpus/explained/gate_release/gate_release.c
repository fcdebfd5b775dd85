/*
 * gate_release: four visitors try to pass a gate that lets one at a time through; who finds it
 * busy goes away.
 *
 * Written for this corpus.
 *
 * Bug (broken lock): a visitor opens the gate when he leaves, also if he did not get in. Fails
 * when one is inside, a second one finds the gate busy and opens it, and a third one enters.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define VISITORS 4

struct gate {
	atomic_bool busy;
	int passed;
};

static struct gate gate;
static atomic_int turned_away;

static pthread_mutex_t got_in_lock = PTHREAD_MUTEX_INITIALIZER;
static int got_in;

static bool enter(struct gate *g)
{
	return !atomic_exchange(&g->busy, true);
}

static void leave(struct gate *g)
{
	atomic_store(&g->busy, false);
}

static void walk_through(struct gate *g)
{
	int passed = g->passed;
	g->passed = passed + 1;

	pthread_mutex_lock(&got_in_lock);
	got_in++;
	pthread_mutex_unlock(&got_in_lock);
}

static void *visitor(void *arg)
{
	if (enter(&gate))
		walk_through(&gate);
	else
		atomic_fetch_add(&turned_away, 1);
	leave(&gate);
	return arg;
}

int main(void)
{
	pthread_t threads[VISITORS];

	for (int i = 0; i < VISITORS; i++)
		pthread_create(&threads[i], NULL, visitor, NULL);
	for (int i = 0; i < VISITORS; i++)
		pthread_join(threads[i], NULL);
	printf("%d turned away\n", atomic_load(&turned_away));
	assert(gate.passed == got_in);
	return 0;
}
