/*
 * lost_wakeup: one thread computes a result, another waits for it in a future: a flag,
 * a mutex and a condition variable.
 *
 * Written for this corpus: the textbook lost wake-up of a condition variable.
 *
 * Bug (atomicity violation of test and wait): the flag is atomic, and get() tests it
 * before it takes the lock, to save the lock once the result is there. Between the
 * test and the wait the result can be set and signalled; a signal that nobody waits
 * for is lost, and get() waits for ever. Fails when all of set() falls into that gap.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct future {
	pthread_mutex_t lock;
	pthread_cond_t is_set;
	atomic_bool set;
	int value;
};

static struct future answer = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.is_set = PTHREAD_COND_INITIALIZER,
};

static void future_set(struct future *f, int value)
{
	pthread_mutex_lock(&f->lock);
	f->value = value;
	f->set = true;
	pthread_cond_signal(&f->is_set);
	pthread_mutex_unlock(&f->lock);
}

static int future_get(struct future *f)
{
	if (!f->set) {
		pthread_mutex_lock(&f->lock);
		pthread_cond_wait(&f->is_set, &f->lock);
		pthread_mutex_unlock(&f->lock);
	}
	return f->value;
}

static void *compute(void *arg)
{
	future_set(arg, 42);
	return NULL;
}

int main(void)
{
	pthread_t computing;

	pthread_create(&computing, NULL, compute, &answer);
	int value = future_get(&answer);
	pthread_join(computing, NULL);
	assert(value == 42);
	return 0;
}
