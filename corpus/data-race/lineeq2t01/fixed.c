/*
 * lineeq2t01, repaired: each thread keeps its numerator to itself.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct system {
    int a, b, e; /* a x + b y = e */
    int c, d, f; /* c x + d y = f */
    int det;
    int x, y;
};

/* 2x + 3y = 13, x - y = -1: x = 2, y = 3 */
static struct system eq = { .a = 2, .b = 3, .e = 13, .c = 1, .d = -1, .f = -1 };

static void *solve_x(void *arg)
{
    struct system *s = arg;
    int num = s->e * s->d - s->b * s->f;
    s->x = num / s->det;
    return NULL;
}

static void *solve_y(void *arg)
{
    struct system *s = arg;
    int num = s->a * s->f - s->e * s->c;
    s->y = num / s->det;
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
