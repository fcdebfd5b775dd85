/*
 * The fixed twin of service_start.c: main waits only as long as the service does not run.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define SERVICES 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t started = PTHREAD_COND_INITIALIZER;
static int running;

static atomic_int requests;

static void say_started(void)
{
	pthread_mutex_lock(&lock);
	running++;
	pthread_cond_signal(&started);
	pthread_mutex_unlock(&lock);
}

static void *service(void *arg)
{
	say_started();
	atomic_fetch_add(&requests, *(int *)arg);
	return NULL;
}

static void start(pthread_t *thread, int *load, int expected)
{
	pthread_create(thread, NULL, service, load);
	pthread_mutex_lock(&lock);
	while (running < expected)
		pthread_cond_wait(&started, &lock);
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	static int loads[SERVICES] = { 10, 20 };
	pthread_t threads[SERVICES];

	for (int i = 0; i < SERVICES; i++)
		start(&threads[i], &loads[i], i + 1);
	for (int i = 0; i < SERVICES; i++)
		pthread_join(threads[i], NULL);
	printf("%d requests\n", atomic_load(&requests));
	return 0;
}
