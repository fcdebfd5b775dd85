/*
 * The fixed twin of pingpong.c: the player is taken, used and put back in one
 * critical section.
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
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static int played[THREADS];

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
