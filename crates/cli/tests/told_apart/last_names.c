/* A name is looked at, freed and taken away by two threads at once, which shows as a use after free, a double free or a
 * null pointer. Counting, and locks in two orders, fail as well, and hide it.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int hits, total;
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
	void *(*people[])(void *) = { first, second, forget, forget };
	pthread_t threads[4];

	name = malloc(4);
	strcpy(name, "x");
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, people[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert(hits == 2);
	return 0;
}
