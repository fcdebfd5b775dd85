/*
 * The fixed twin of thesis-2.4.c: T2 waits until the object is initialised.
 */
#include <pthread.h>
#include <stddef.h>

struct object {
	int uses;
};

static struct object the_object;
static struct object *o = NULL;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t initialised = PTHREAD_COND_INITIALIZER;

static void use(struct object *self)
{
	self->uses++;
}

static void *T1(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	o = &the_object; /* o = new Object() */
	pthread_cond_signal(&initialised);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *T2(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	while (o == NULL)
		pthread_cond_wait(&initialised, &lock);
	use(o); /* o.use() */
	pthread_mutex_unlock(&lock);
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
