/* Five bugs at once: two locks in two orders, counting without a lock, a flag before its value, a stock that two see, and
 * a name that two threads look at, free and take away (a double free, a use after free or a null pointer).
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int hits, total, ready, value, tickets = 3, sold;
static char *name;

static void *first(void *unused)
{
	hits++;
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&b);
	total++;
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
	return unused;
}

static void *second(void *unused)
{
	hits++;
	pthread_mutex_lock(&b);
	pthread_mutex_lock(&a);
	total++;
	pthread_mutex_unlock(&a);
	pthread_mutex_unlock(&b);
	return unused;
}

static void *produce(void *unused)
{
	ready = 1;
	value = 42;
	return unused;
}
static void *consume(void *unused)
{
	if (ready)
		assert(value == 42);
	return unused;
}

static void *sell(void *unused)
{
	if (tickets > 2) {
		tickets--;
		sold++;
	}
	assert(tickets >= 2);
	return unused;
}

static void *forget(void *unused)
{
	if (name) {
		assert(name[0] == 'x');
		free(name);
		name = NULL;
	}
	return unused;
}

int main(void)
{
	void *(*people[])(void *) = { first, second, produce, consume, sell, sell, forget, forget };
	pthread_t threads[8];

	name = malloc(4);
	strcpy(name, "x");
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, people[i], NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	assert(hits == 2);
	return 0;
}
