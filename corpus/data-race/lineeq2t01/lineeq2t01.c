/*
 * lineeq2t01, of ConcBugAssist's table 5.1 (lineEq2t01: 58 lines, 3 threads, data
 * race; 2 causes of 4 constraints). The original is a benchmark of Bloem et al.
 * on synthesising synchronisation: linear equations solved by two threads.
 * The system a x + b y = e, c x + d y = f is solved by Cramer's rule, one thread
 * for each unknown, once the determinant is known.
 * The bug: both threads keep their numerator in the same variable of the system.
 * Fails when one thread stores its numerator between the other's store and the
 * division that reads it back.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct system {
    int a, b, e; /* a x + b y = e */
    int c, d, f; /* c x + d y = f */
    int det;
    int num; /* numerator of the unknown being worked out */
    int x, y;
};

/* 2x + 3y = 13, x - y = -1: x = 2, y = 3 */
static struct system eq = { .a = 2, .b = 3, .e = 13, .c = 1, .d = -1, .f = -1 };

static void *solve_x(void *arg)
{
    struct system *s = arg;
    s->num = s->e * s->d - s->b * s->f;
    s->x = s->num / s->det;
    return NULL;
}

static void *solve_y(void *arg)
{
    struct system *s = arg;
    s->num = s->a * s->f - s->e * s->c;
    s->y = s->num / s->det;
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;
    eq.det = eq.a * eq.d - eq.b * eq.c;
    pthread_create(&t1, NULL, solve_x, &eq);
    pthread_create(&t2, NULL, solve_y, &eq);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    assert(eq.a * eq.x + eq.b * eq.y == eq.e && eq.c * eq.x + eq.d * eq.y == eq.f);
    return 0;
}
