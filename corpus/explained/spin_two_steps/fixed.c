/*
 * The fixed twin of spin_two_steps.c: one atomic operation looks at the lock and marks it.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#define THREADS 4

struct spinlock {
	atomic_int taken;
};

static struct {
	struct spinlock lock;
	int next;
} sequence;

static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void acquire(struct spinlock *l)
{
	while (atomic_exchange(&l->taken, 1))
		sched_yield();
}

static void release(struct spinlock *l)
{
	atomic_store(&l->taken, 0);
}

static int draw(void)
{
	acquire(&sequence.lock);
	int number = sequence.next;
	sequence.next = number + 1;
	release(&sequence.lock);
	return number;
}

static void *player(void *arg)
{
	int number = draw();

	pthread_mutex_lock(&sum_lock);
	sum += number;
	pthread_mutex_unlock(&sum_lock);
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, player, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("the sum is %d\n", sum);
	assert(sequence.next == THREADS);
	return 0;
}
