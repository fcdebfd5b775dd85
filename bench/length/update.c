/* Four threads, each with rounds of work that does no harm and then, once, with an update that can be lost. With LOCKED
   the rounds take a lock, else they update a number without one, which nobody looks at. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int noise, hits, rounds;

static void *work(void *argument)
{
	for (int i = 0; i < rounds; i++) {
#ifdef LOCKED
		pthread_mutex_lock(&lock);
		noise++;
		pthread_mutex_unlock(&lock);
#else
		noise++;
#endif
	}
	int seen = hits;
	hits = seen + 1;
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	rounds = argc > 1 ? atoi(argv[1]) : 1;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert(hits == 4);
	return 0;
}
