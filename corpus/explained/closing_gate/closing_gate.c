/*
 * closing_gate: a keeper takes a gate down and says so; a visitor who hears that goes through
 * the gate.
 *
 * Written for this corpus, after the shape of a test of GenMC.
 *
 * Bug (early free): the visitor goes through the gate only when it is told that the gate is
 * down, so that whenever it comes to the lock, the lock has been destroyed. Runs pass only where
 * the visitor looks before.
 */
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t gate;
static atomic_int is_down;

static void *keeper(void *unused)
{
	pthread_mutex_destroy(&gate);
	atomic_store(&is_down, 1);
	return unused;
}

static void *visitor(void *unused)
{
	if (atomic_load(&is_down)) {
		pthread_mutex_lock(&gate);
		pthread_mutex_unlock(&gate);
	}
	return unused;
}

int main(void)
{
	pthread_t keeps, visits;
	pthread_mutex_init(&gate, NULL);
	pthread_create(&keeps, NULL, keeper, NULL);
	pthread_create(&visits, NULL, visitor, NULL);
	pthread_join(keeps, NULL);
	pthread_join(visits, NULL);
	return 0;
}
