/* N threads that do the same, each with its number, and are joined. */
#include <pthread.h>
#include <stdatomic.h>

static void *work(void *number);

static void run(void)
{
	pthread_t threads[N];
	for (long i = 0; i < N; i++)
		pthread_create(&threads[i], 0, work, (void *)i);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], 0);
}
