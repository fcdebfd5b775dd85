/*
 * job_mailbox: a thread hands a job to a worker through a pointer that both look at.
 *
 * Written for this corpus.
 *
 * Bug (early publication): the pointer is set before the job is filled in. Fails when the
 * worker takes it and reads the amount before that is written.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
	int id;
	int amount;
};

static struct job *_Atomic mailbox;

static pthread_mutex_t account_lock = PTHREAD_MUTEX_INITIALIZER;
static int account = 5;

static void book(int amount)
{
	pthread_mutex_lock(&account_lock);
	account += amount;
	pthread_mutex_unlock(&account_lock);
}

static void *sender(void *arg)
{
	struct job *job = calloc(1, sizeof *job);

	job->id = 1;
	atomic_store(&mailbox, job);
	job->amount = 42;
	return arg;
}

static void *worker(void *arg)
{
	struct job *job;

	while ((job = atomic_load(&mailbox)) == NULL)
		sched_yield();
	book(job->amount);
	return arg;
}

static void *interest(void *arg)
{
	book(3);
	return arg;
}

int main(void)
{
	pthread_t threads[3];

	pthread_create(&threads[0], NULL, sender, NULL);
	pthread_create(&threads[1], NULL, worker, NULL);
	pthread_create(&threads[2], NULL, interest, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("job %d done\n", mailbox->id);
	assert(account == 50);
	free(mailbox);
	return 0;
}
