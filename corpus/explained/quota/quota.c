/*
 * quota: four threads reserve a part of a quota, use it and give it back. The quota is enough
 * for all but the two large ones at the same time.
 *
 * Written for this corpus.
 *
 * Bug (lock not released): who finds too little left returns with the lock held. Fails when
 * the two large reservations overlap: everyone else waits for the lock for ever.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define THREADS 4
#define QUOTA 5

static struct {
	pthread_mutex_t lock;
	int used;
} quota = { .lock = PTHREAD_MUTEX_INITIALIZER };

static atomic_int refused;

static bool reserve(int amount)
{
	pthread_mutex_lock(&quota.lock);
	if (quota.used + amount > QUOTA)
		return false;
	quota.used += amount;
	pthread_mutex_unlock(&quota.lock);
	return true;
}

static void give_back(int amount)
{
	pthread_mutex_lock(&quota.lock);
	quota.used -= amount;
	pthread_mutex_unlock(&quota.lock);
}

static void *user(void *arg)
{
	int amount = *(int *)arg;

	if (!reserve(amount)) {
		atomic_fetch_add(&refused, 1);
		return NULL;
	}
	give_back(amount);
	return NULL;
}

int main(void)
{
	static int amounts[THREADS] = { 3, 1, 3, 1 };
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, user, &amounts[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d refused\n", atomic_load(&refused));
	assert(quota.used == 0);
	return 0;
}
