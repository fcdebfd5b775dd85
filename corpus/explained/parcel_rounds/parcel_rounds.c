/*
 * parcel_rounds: a packer puts numbered parcels on a belt that holds one, a checker takes them
 * and expects the numbers in order.
 *
 * Written for this corpus, after the shape of the buffers of two flags in SCTBench.
 *
 * Bug (order violation): both look at their flag once a round and count rounds, not parcels. A
 * round in which there is nothing to do is counted all the same: nobody waits for the other.
 * Fails when one of them comes round twice while the other has not come.
 */
#include <assert.h>
#include <pthread.h>

#define ROUNDS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int may_put = 1;
static int may_take;
static int belt;

static void *packer(void *unused)
{
	for (int round = 0; round < ROUNDS; round++) {
		pthread_mutex_lock(&lock);
		if (may_put) {
			belt = round;
			may_put = 0;
			may_take = 1;
		}
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void *checker(void *unused)
{
	for (int round = 0; round < ROUNDS; round++) {
		pthread_mutex_lock(&lock);
		if (may_take) {
			assert(belt == round);
			may_take = 0;
			may_put = 1;
		}
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
