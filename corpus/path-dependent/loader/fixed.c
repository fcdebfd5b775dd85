/*
 * The fixed twin of loader.c: claim() finds a module unloaded and marks it as
 * loading in one critical section.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define MAX 32

enum state { UNLOADED, LOADING, LOADED };

struct module {
	pthread_mutex_t lock;
	enum state state;
	int loads; /* how often it was loaded */
};

static struct module modules[MAX];
static int num_modules = 2;
static int num_clients = 2;

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

	for (int i = 0; i < num_modules; i++)
		need(&modules[(id + i) % num_modules]);
	return NULL;
}

/* The arguments are the number of clients, and of modules. */
int main(int argc, char **argv)
{
	int ids[MAX];
	pthread_t clients[MAX];

	if (argc > 1)
		num_clients = atoi(argv[1]);
	if (argc > 2)
		num_modules = atoi(argv[2]);
	if (num_clients > MAX || num_modules > MAX)
		return 2;
	for (int i = 0; i < num_modules; i++)
		pthread_mutex_init(&modules[i].lock, NULL);
	for (int i = 0; i < num_clients; i++) {
		ids[i] = i;
		pthread_create(&clients[i], NULL, client, &ids[i]);
	}
	for (int i = 0; i < num_clients; i++)
		pthread_join(clients[i], NULL);

	for (int i = 0; i < num_modules; i++)
		assert(modules[i].state == LOADED);
	return 0;
}
