/*
 * The fixed twin of pingpong.c: the player is taken, used and put back in one
 * critical section.
 */
#include <pthread.h>
#include <stdlib.h>

#define MAX_THREADS 16

struct player {
	int balls; /* played, by whoever holds the player */
};

static struct player the_player;
static struct player *pingPongPlayer = &the_player;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static int played[MAX_THREADS];
static int num_threads = 3;
static int balls = 1; /* of each thread */

static void doPingPong(void)
{
	struct player *newPlayer;

	pthread_mutex_lock(&table);
	newPlayer = pingPongPlayer;
	pingPongPlayer = NULL;
	newPlayer->balls++;
	pingPongPlayer = newPlayer;
	pthread_mutex_unlock(&table);
}

static void *run(void *arg)
{
	int *mine = arg;

	for (int i = 0; i < balls; i++) {
		doPingPong();
		*mine = *mine + 1;
	}
	return NULL;
}

/* The arguments are the number of threads, and of balls that each of them plays. */
int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];

	if (argc > 1)
		num_threads = atoi(argv[1]);
	if (argc > 2)
		balls = atoi(argv[2]);
	if (num_threads > MAX_THREADS)
		return 2;
	for (int i = 0; i < num_threads; i++)
		pthread_create(&threads[i], NULL, run, &played[i]);
	for (int i = 0; i < num_threads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
