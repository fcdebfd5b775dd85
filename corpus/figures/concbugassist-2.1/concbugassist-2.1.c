/*
 * Figure 2.1 of the ConcBugAssist thesis (Khoshnood), its motivating example.
 * main creates a thread, then checks x and asserts what it has just checked.
 * The bug: the check and the assertion are two reads of x, and nothing keeps
 * f's store from falling between them.
 * Fails when the check reads 1, f stores 0, and the assertion reads again.
 * The thesis' root cause: e9 -> e4 (check before store) and e4 -> e10 (store
 * before assertion).
 * The join at the end is ours; the figure's main returns without it.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_t t1;
static int x = 1;

static void *f(void *arg)
{
    (void)arg;
    x = 0;
    return NULL;
}

int main(void)
{
    pthread_create(&t1, NULL, f, NULL);
    if (x != 0)
        assert(x != 0);
    pthread_join(t1, NULL);
    return 0;
}
