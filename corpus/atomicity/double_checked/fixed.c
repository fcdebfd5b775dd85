/*
 * The fixed twin of double_checked.c: the object is filled before its pointer, now
 * atomic, is published.
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
static struct settings *_Atomic settings;

static struct settings *get_settings(void)
{
	if (settings == NULL) {
		pthread_mutex_lock(&making);
		if (settings == NULL) {
			struct settings *made = calloc(1, sizeof *made);
			made->rate = 48000;
			made->channels = 2;
			settings = made;
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
