/*
 * blackscholes: threads price a share of the options each; the main thread
 * waits until all of them are done.
 *
 * Modelled on the thread skeleton of `blackscholes` of PARSEC, in which
 * Tinertia (table 2) seeded a deadlock by changing synchronisation; here in
 * the place where the program waits for its threads.
 *
 * Bug (lost wake-up): wait_for_all() looks at the number of finished threads
 * before it takes the lock. The last thread finishes and signals in between;
 * main then waits for a signal that has been given already.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 2
#define OPTIONS 4

static int spot[OPTIONS] = { 100, 80, 120, 90 };
static int prices[OPTIONS];

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	atomic_int finished;
} team = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

/* Not the formula, but a price. */
static int BlkSchlsEqEuroNoDiv(int s)
{
	return s > 90 ? s - 90 : 0;
}

static void finish(void)
{
	pthread_mutex_lock(&team.lock);
	team.finished++;
	if (team.finished == THREADS)
		pthread_cond_signal(&team.changed);
	pthread_mutex_unlock(&team.lock);
}

static void wait_for_all(void)
{
	if (team.finished < THREADS) {
		pthread_mutex_lock(&team.lock);
		pthread_cond_wait(&team.changed, &team.lock);
		pthread_mutex_unlock(&team.lock);
	}
}

static void *bs_thread(void *arg)
{
	int id = *(int *)arg;

	for (int i = id; i < OPTIONS; i += THREADS)
		prices[i] = BlkSchlsEqEuroNoDiv(spot[i]);
	finish();
	return NULL;
}

int main(void)
{
	static int ids[THREADS] = { 0, 1 };
	pthread_t threads[THREADS];
	int sum = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, bs_thread, &ids[i]);
	wait_for_all();
	for (int i = 0; i < OPTIONS; i++)
		sum += prices[i];
	assert(sum == 40);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
