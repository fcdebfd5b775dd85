// Two threads free what they both hold, and main resets what they share between two rounds, alone.
#include <pthread.h>
#include <stdlib.h>

static int *object;
static int rounds;

static void *worker(void *arg)
{
    int *mine = object;
    rounds++;
    if (mine != NULL) {
        mine[1]++;
        object = NULL;
        free(mine);
    }
    return arg;
}

int main(void)
{
    for (int round = 0; round < 2; round++) {
        pthread_t a, b;
        object = malloc(8);
        rounds = 0;
        pthread_create(&a, NULL, worker, NULL);
        pthread_create(&b, NULL, worker, NULL);
        pthread_join(a, NULL);
        pthread_join(b, NULL);
        if (rounds != 2)
            return 1;
    }
    return 0;
}
