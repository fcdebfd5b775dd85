/*
 * The fixed twin of lost_wakeup.c: the flag is tested with the lock held, and again
 * after each wait.
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
		while (!f->set)
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
