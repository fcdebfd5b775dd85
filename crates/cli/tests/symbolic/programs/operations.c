// Atomic operations, variadic functions, callbacks, jumps, the heap: what moves values other than by assignment.
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct big {
    long a, b, c;
};
struct node {
    struct node *next;
    int value;
};

static atomic_int n;
static atomic_long m;
static _Atomic unsigned char c;
static _Atomic short s;
static _Atomic(int *) p;
static _Atomic __int128 w;
static _Atomic double d;
static _Atomic struct big big;
static int cell[4], plain;
static struct node *head;

static int sum(int count, ...)
{
    va_list list;
    int total = 0;
    va_start(list, count);
    while (count-- > 0)
        total += va_arg(list, int);
    va_end(list);
    return total;
}

static double sum_of_doubles(int count, ...)
{
    va_list list;
    double total = 0;
    va_start(list, count);
    while (count-- > 0)
        total += va_arg(list, double);
    va_end(list);
    return total;
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static void atomics(long id)
{
    int old = atomic_fetch_add(&n, 1);
    atomic_fetch_sub(&m, old);
    atomic_fetch_or(&c, old);
    atomic_fetch_xor(&c, 3);
    atomic_fetch_and(&s, ~old);
    atomic_exchange(&s, old + 5);
    __atomic_fetch_nand((int *)&n, 6, __ATOMIC_SEQ_CST);
    int expected = atomic_load(&n);
    while (!atomic_compare_exchange_weak(&n, &expected, expected * 2 + 1))
        ;
    expected = 3;
    if (atomic_compare_exchange_strong(&n, &expected, 9))
        plain++;
    else
        plain += expected;
    atomic_store(&p, &cell[n & 3]);
    *atomic_load(&p) += id;
    w += id + n;
    if (w > 3)
        plain ^= 1;
    w = w * 2;
    d += 0.5;
    if (d > 1.0)
        plain += 2;
    struct big b = big;
    b.a += b.c + 1;
    big = b;
}

static void calls(void)
{
    plain = sum(4, plain, n, 3, cell[1]);
    if (sum_of_doubles(2, (double)plain, d) > 8.0)
        plain -= 3;
    int array[4] = { plain, n, 2, cell[0] };
    qsort(array, 4, sizeof *array, compare);
    plain = array[1];
    jmp_buf buffer;
    volatile int k = 0;
    int r = setjmp(buffer);
    if (r < 2) {
        k += plain & 1;
        longjmp(buffer, r + 1);
    }
    plain += k + r;
    plain += __builtin_bswap32(plain) & 0xf;
    plain += abs(plain - 20);
    int sum;
    if (__builtin_add_overflow(plain, 2147483000, &sum))
        plain = 0;
}

static void heap(void)
{
    struct node *node = malloc(sizeof *node);
    node->value = plain;
    node->next = head;
    head = node;
    if (head->next)
        plain += head->next->value;
    int *grown = malloc(4);
    *grown = plain;
    grown = realloc(grown, 400);
    plain += grown[0] & 3;
    free(grown);
}

static void *worker(void *arg)
{
    atomics((long)arg);
    calls();
    heap();
    return NULL;
}

int main(void)
{
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d %d\n", plain, (int)n);
    assert(plain % 7 != 3);
    return 0;
}
