/*
 * The fixed twin of parcel_rounds.c: each waits for the other in every round.
 */
#include <assert.h>
#include <pthread.h>

#define ROUNDS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int may_put = 1;
static int may_take;
static int belt;

static void *packer(void *unused)
{
	for (int round = 0; round < ROUNDS; round++) {
		pthread_mutex_lock(&lock);
		while (!may_put)
			pthread_cond_wait(&turned, &lock);
		belt = round;
		may_put = 0;
		may_take = 1;
		pthread_cond_broadcast(&turned);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void *checker(void *unused)
{
	for (int round = 0; round < ROUNDS; round++) {
		pthread_mutex_lock(&lock);
		while (!may_take)
			pthread_cond_wait(&turned, &lock);
		assert(belt == round);
		may_take = 0;
		may_put = 1;
		pthread_cond_broadcast(&turned);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(void)
{
	pthread_t packs, checks;
	pthread_create(&packs, NULL, packer, NULL);
	pthread_create(&checks, NULL, checker, NULL);
	pthread_join(packs, NULL);
	pthread_join(checks, NULL);
	return 0;
}
