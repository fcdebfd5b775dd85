/*
 * The fixed twin of thesis-2.5.c: one lock for all accounts, the correction that
 * the thesis proposes.
 */
#include <assert.h>
#include <pthread.h>

struct account {
	int balance;
};

static struct account A = { 100 };
static struct account B = { 100 };
static pthread_mutex_t bank = PTHREAD_MUTEX_INITIALIZER;

static void transfer(struct account *src, struct account *dst, int amount)
{
	pthread_mutex_lock(&bank);
	src->balance -= amount;
	dst->balance += amount;
	pthread_mutex_unlock(&bank);
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
