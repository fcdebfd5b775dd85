/*
 * reorder_20: reorder (ConcBugAssist's table 5.1, original SV-COMP 2015) with
 * twenty threads besides main instead of three, as studies of search strategies do.
 * Nineteen setters make a and b change from (0, 0) to (1, -1); a checker looks at the pair.
 * The bug: the two stores of a setter, and the reads of the checker, are not one
 * step, so the pair can be seen half changed.
 * Fails when the checker, created last, reads a after the first setter stored 1 and
 * reads b before any of the nineteen stored -1: the window closes with the first b,
 * and twice as many threads as in reorder_10 are there to close it.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define SETTERS 19

static int a = 0;
static int b = 0;

static void *set_thread(void *arg)
{
    (void)arg;
    a = 1;
    b = -1;
    return NULL;
}

static void *check_thread(void *arg)
{
    (void)arg;
    assert((a == 0 && b == 0) || (a == 1 && b == -1));
    return NULL;
}

int main(void)
{
    pthread_t setter[SETTERS], checker;
    for (int k = 0; k < SETTERS; k++)
        pthread_create(&setter[k], NULL, set_thread, NULL);
    pthread_create(&checker, NULL, check_thread, NULL);

    for (int k = 0; k < SETTERS; k++)
        pthread_join(setter[k], NULL);
    pthread_join(checker, NULL);
    return 0;
}
