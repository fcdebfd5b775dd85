// A worker unpacks a block and then counts what it has taken, under the lock; the reader counts the header without it. Between
// the two halves of the reader's step the worker may do all of its work.
#include <assert.h>
#include <pthread.h>

#define BLOCK 540
#define HEADER 12

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned char packed[BLOCK];
static _Atomic unsigned char unpacked[BLOCK];
static unsigned long progress;

static void *worker(void *unused)
{
    for (int i = 0; i < BLOCK; i++)
        unpacked[i] = packed[i] ^ 0x5a;
    pthread_mutex_lock(&mutex);
    progress += BLOCK;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static int ready_bytes(void)
{
    int ready = 0;
    while (ready < BLOCK && unpacked[ready] != 0)
        ready++;
    return ready;
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < BLOCK; i++)
        packed[i] = 'a';
    pthread_create(&thread, NULL, worker, NULL);
    progress += HEADER;
    int ready = ready_bytes();
    pthread_join(thread, NULL);
    assert(ready <= ready_bytes());
    assert(progress == HEADER + BLOCK);
    return 0;
}
