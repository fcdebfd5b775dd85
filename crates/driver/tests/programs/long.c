/* Much log in a deep and changing call stack: for a flight recorder that begins in the middle. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long shared;

static unsigned step(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    return *state >> 16;
}

static int compare(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    if (x % 64 == 0)
        return x < y ? -1 : x != y;
    return x < y ? -1 : x > y;
}

static unsigned long climb(unsigned *state, int depth)
{
    unsigned long sum = 0;
    if (depth == 0) {
        unsigned data[40];
        for (int i = 0; i < 40; i++)
            data[i] = step(state);
        qsort(data, 40, sizeof data[0], compare);
        return data[20];
    }
    while (step(state) % 4) {
        sum += climb(state, depth - 1);
        if (sum % 16 == 0) {
            pthread_mutex_lock(&lock);
            shared += sum & 1 ? 3 : 1;
            pthread_mutex_unlock(&lock);
        }
    }
    for (unsigned i = 0; i < sum % 50; i++)
        sum += i;
    return sum;
}

static void *work(void *argument)
{
    unsigned state = *(unsigned *)argument;
    unsigned long sum = 0;
    int rounds = (int)state;
    for (int i = 0; i < rounds; i++)
        sum += climb(&state, 3 + i % 6);
    pthread_mutex_lock(&lock);
    shared += sum;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100, own = rounds + 1;
    pthread_t thread;
    pthread_create(&thread, 0, work, &rounds);
    work(&own);
    pthread_join(thread, 0);
    printf("%d\n", shared != 0);
    return 0;
}
