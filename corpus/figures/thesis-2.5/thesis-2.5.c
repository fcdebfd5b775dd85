/*
 * thesis-2.5: figure 2.5 of the thesis on cooperative concurrency debugging, a
 * deadlock: transfer() locks the source and then the destination account.
 *
 * Bug (lock order inversion): T1 runs transfer(A, B, 10) and T2 runs
 * transfer(B, A, 10); each holds the lock of its source account and waits for
 * that of its destination.
 */
#include <assert.h>
#include <pthread.h>

struct account {
	pthread_mutex_t lock;
	int balance;
};

static struct account A = { PTHREAD_MUTEX_INITIALIZER, 100 };
static struct account B = { PTHREAD_MUTEX_INITIALIZER, 100 };

static void transfer(struct account *src, struct account *dst, int amount)
{
	pthread_mutex_lock(&src->lock);
	pthread_mutex_lock(&dst->lock);
	src->balance -= amount;
	dst->balance += amount;
	pthread_mutex_unlock(&dst->lock);
	pthread_mutex_unlock(&src->lock);
}

static void *T1(void *arg)
{
	(void)arg;
	transfer(&A, &B, 10);
	return NULL;
}

static void *T2(void *arg)
{
	(void)arg;
	transfer(&B, &A, 10);
	return NULL;
}

int main(void)
{
	pthread_t t1, t2;

	pthread_create(&t1, NULL, T1, NULL);
	pthread_create(&t2, NULL, T2, NULL);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
	assert(A.balance == 100 && B.balance == 100);
	return 0;
}
