/*
 * thread_pool_stop: a pool of threads that take jobs from a queue until the pool is
 * stopped.
 *
 * Written for this corpus, after the thread pools of servers and their shutdown.
 *
 * Bug (lost wake-up): the flag that says "stop" is atomic, and so it is set, and the
 * workers are woken, without the lock. A worker that holds the lock has just seen the
 * flag unset and is about to wait; the wake-up comes before it sleeps. Fails when
 * pool_stop() sets the flag and broadcasts between the test and the wait of a worker
 * that finds no job: it sleeps for ever, and pool_stop() waits for it as long.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define WORKERS 2
#define CAPACITY 4
#define JOBS 3

struct job {
	void (*run)(void *);
	void *arg;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct job jobs[CAPACITY];
	int first, count;
	atomic_bool stop;
	pthread_t workers[WORKERS];
};

static struct pool pool;
static int results[JOBS];

/* Takes the next job. Without one, waits for it, or says that the pool was stopped. */
static bool next_job(struct pool *p, struct job *job)
{
	bool found = false;

	pthread_mutex_lock(&p->lock);
	while (p->count == 0 && !p->stop)
		pthread_cond_wait(&p->wake, &p->lock);
	if (p->count > 0) {
		*job = p->jobs[p->first];
		p->first = (p->first + 1) % CAPACITY;
		p->count--;
		found = true;
	}
	pthread_mutex_unlock(&p->lock);
	return found;
}

static void *worker(void *arg)
{
	struct pool *p = arg;
	struct job job;

	while (next_job(p, &job))
		job.run(job.arg);
	return NULL;
}

static void pool_start(struct pool *p)
{
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&p->workers[i], NULL, worker, p);
}

static void pool_submit(struct pool *p, void (*run)(void *), void *arg)
{
	pthread_mutex_lock(&p->lock);
	assert(p->count < CAPACITY);
	p->jobs[(p->first + p->count) % CAPACITY] = (struct job){ run, arg };
	p->count++;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

/* Jobs that were submitted are still done. */
static void pool_stop(struct pool *p)
{
	p->stop = true;
	pthread_cond_broadcast(&p->wake);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(p->workers[i], NULL);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
}

static void square(void *arg)
{
	int *result = arg;
	int index = (int)(result - results);

	*result = (index + 1) * (index + 1);
}

int main(void)
{
	int sum = 0;

	pool_start(&pool);
	for (int i = 0; i < JOBS; i++)
		pool_submit(&pool, square, &results[i]);
	pool_stop(&pool);
	for (int i = 0; i < JOBS; i++)
		sum += results[i];
	assert(sum == 1 + 4 + 9);
	return 0;
}
