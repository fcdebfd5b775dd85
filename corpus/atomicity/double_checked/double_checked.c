/*
 * double_checked: the settings of an audio program are made when they are first needed,
 * by whichever thread comes first.
 *
 * Modelled on the double-checked locking pattern and its textbook mistake.
 *
 * Bug (atomicity violation): the pointer is published before the object is filled, and
 * the first test is made without the lock. Fails when a thread comes after the pointer
 * was stored and before the field it reads: it takes the half-made object for done.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#define PLAYERS 3

struct settings {
	int rate;
	int channels;
};

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static struct settings *settings;

static struct settings *get_settings(void)
{
	if (settings == NULL) {
		pthread_mutex_lock(&making);
		if (settings == NULL) {
			settings = calloc(1, sizeof *settings);
			settings->rate = 48000;
			settings->channels = 2;
		}
		pthread_mutex_unlock(&making);
	}
	return settings;
}

static void *player(void *arg)
{
	(void)arg;
	struct settings *s = get_settings();
	int samples = s->rate * s->channels;
	assert(samples == 96000);
	return NULL;
}

int main(void)
{
	pthread_t players[PLAYERS];

	for (int i = 0; i < PLAYERS; i++)
		pthread_create(&players[i], NULL, player, NULL);
	for (int i = 0; i < PLAYERS; i++)
		pthread_join(players[i], NULL);
	free(settings);
	return 0;
}
