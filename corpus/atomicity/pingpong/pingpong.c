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
#include <stddef.h>

#define THREADS 3
#define BALLS 1

struct player {
	int balls; /* played, by whoever holds the player */
};

static struct player the_player;
static struct player *pingPongPlayer = &the_player;
static int played[THREADS];

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

	for (int i = 0; i < BALLS; i++) {
		doPingPong();
		*mine = *mine + 1;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, &played[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
