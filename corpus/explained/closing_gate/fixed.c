/*
 * The fixed twin of closing_gate.c: the gate is taken down when nobody comes any more.
 */
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t gate;
static atomic_int is_down;

static void *keeper(void *unused)
{
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
	pthread_mutex_destroy(&gate);
	return 0;
}
