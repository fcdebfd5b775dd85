/* two_lamps.c with a lock in place of the lamps. */
#include <pthread.h>

static pthread_mutex_t bridge = PTHREAD_MUTEX_INITIALIZER;
static int crossed;

static void cross(void)
{
    pthread_mutex_lock(&bridge);
    crossed++;
    pthread_mutex_unlock(&bridge);
}

static void *from_east(void *arg)
{
    (void)arg;
    cross();
    return NULL;
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, from_east, NULL);
    cross();
    pthread_join(thread, NULL);
    return crossed == 2 ? 0 : 1;
}
