/*
 * pingpong: several threads take the one player object, play a ball with it
 * and put it back.
 *
 * Modelled on `PingPong` of the IBM ConTest suite as studied by Cortex (table
 * 5.1). Taking the player means: remember the reference, set the shared one to
 * null, play, store it again.
 *
 * Bug (atomicity violation, no lock): while one thread plays, the shared
 * reference is null; another thread takes null for its player and follows it.
 */
#include <pthread.h>
#include <stdlib.h>

#define MAX_THREADS 16

struct player {
	int balls; /* played, by whoever holds the player */
};

static struct player the_player;
static struct player *pingPongPlayer = &the_player;
static int played[MAX_THREADS];
static int num_threads = 3;
static int balls = 1; /* of each thread */

static void doPingPong(void)
{
	struct player *newPlayer;

	newPlayer = pingPongPlayer;
	pingPongPlayer = NULL;
	newPlayer->balls++;
	pingPongPlayer = newPlayer;
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
