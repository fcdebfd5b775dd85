/*
 * The fixed twin of loader.c: claim() finds a module unloaded and marks it as
 * loading in one critical section.
 */
#include <assert.h>
#include <pthread.h>

#define MODULES 2
#define CLIENTS 2

enum state { UNLOADED, LOADING, LOADED };

struct module {
	pthread_mutex_t lock;
	enum state state;
	int loads; /* how often it was loaded */
};

static struct module modules[MODULES];

/* Returns the state, and claims an unloaded module for the caller. */
static enum state claim(struct module *m)
{
	pthread_mutex_lock(&m->lock);
	enum state state = m->state;
	if (state == UNLOADED)
		m->state = LOADING;
	pthread_mutex_unlock(&m->lock);
	return state;
}

static void set_state(struct module *m, enum state state)
{
	pthread_mutex_lock(&m->lock);
	m->state = state;
	pthread_mutex_unlock(&m->lock);
}

static void load(struct module *m)
{
	pthread_mutex_lock(&m->lock);
	m->loads++;
	assert(m->loads == 1);
	pthread_mutex_unlock(&m->lock);
}

static void need(struct module *m)
{
	if (claim(m) == UNLOADED) {
		load(m);
		set_state(m, LOADED);
	}
}

static void *client(void *arg)
{
	int id = *(int *)arg;

	for (int i = 0; i < MODULES; i++)
		need(&modules[(id + i) % MODULES]);
	return NULL;
}

int main(void)
{
	static int ids[CLIENTS] = { 0, 1 };
	pthread_t clients[CLIENTS];

	for (int i = 0; i < MODULES; i++)
		pthread_mutex_init(&modules[i].lock, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, client, &ids[i]);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);

	for (int i = 0; i < MODULES; i++)
		assert(modules[i].state == LOADED);
	return 0;
}
