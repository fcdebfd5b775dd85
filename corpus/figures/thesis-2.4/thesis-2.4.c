/*
 * thesis-2.4: figure 2.4 of the thesis on cooperative concurrency debugging,
 * an ordering violation.
 *
 * Bug: T1 initialises the object `o`, T2 calls a method of it, and nothing
 * orders the two (execution b of the figure). A lock around each of them would
 * not help, either.
 */
#include <pthread.h>
#include <stddef.h>

struct object {
	int uses;
};

static struct object the_object;
static struct object *o = NULL;

static void use(struct object *self)
{
	self->uses++;
}

static void *T1(void *arg)
{
	(void)arg;
	o = &the_object; /* o = new Object() */
	return NULL;
}

static void *T2(void *arg)
{
	(void)arg;
	use(o); /* o.use() */
	return NULL;
}

int main(void)
{
	pthread_t t1, t2;

	pthread_create(&t1, NULL, T1, NULL);
	pthread_create(&t2, NULL, T2, NULL);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
	return 0;
}
