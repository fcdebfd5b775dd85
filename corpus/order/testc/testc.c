/*
 * testc, of ConcBugAssist's table 5.1 (19 lines, 2 threads, order violation;
 * 1 cause of 2 constraints). The original is a program of SV-COMP 2015; the
 * thesis gives only these figures, and they are those of its figure 2.1.
 * A test dispatcher shares a budget among the channels still open, while a
 * second thread closes the last of them.
 * The bug: `channels` is tested and then read again as the divisor, and the
 * close may come between the two.
 * Fails (division by zero) when the test reads 4, the close stores 0 and the
 * division reads 0.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

struct dispatcher {
    int budget;   /* never changes */
    int channels; /* open channels */
};

static struct dispatcher d = { .budget = 100, .channels = 4 };

static int share(const struct dispatcher *p)
{
    if (p->channels != 0)
        return p->budget / p->channels;
    return p->budget;
}

static void close_all(struct dispatcher *p)
{
    p->channels = 0;
}

static void *closer(void *arg)
{
    close_all(arg);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, closer, &d);
    int s = share(&d);
    pthread_join(t, NULL);
    printf("share %d\n", s);
    return 0;
}
