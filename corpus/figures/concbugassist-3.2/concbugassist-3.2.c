/*
 * Figure 3.2 of the ConcBugAssist thesis (Khoshnood), its MySQL example.
 * Two threads each set x and y to a value of their own; afterwards the two
 * must be equal.
 * The bug: the pair of assignments is not atomic in either thread.
 * Fails in two ways, which are the thesis' two root causes:
 *   f2's x before f1's x, and f1's y before f2's y (x == 0, y == 1);
 *   f1's x before f2's x, and f2's y before f1's y (x == 1, y == 0).
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int x = 0;
static int y = 0;

static void *f1(void *arg)
{
    (void)arg;
    x = 0;
    y = 0;
    return NULL;
}

static void *f2(void *arg)
{
    (void)arg;
    x = 1;
    y = 1;
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;
    pthread_create(&t1, NULL, f1, NULL);
    pthread_create(&t2, NULL, f2, NULL);

    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    assert(x == y);
    return 0;
}
