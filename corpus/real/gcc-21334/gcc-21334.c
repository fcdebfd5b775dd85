/*
 * gcc-21334, of ConcBugAssist's table 5.1 (94 lines, 3 threads, data race; 1 cause
 * of 2 constraints). The original is GCC bug 21334: libstdc++'s copy-on-write
 * strings are not safe even when every thread only reads the shared string.
 * A string's representation counts its sharers: n > 0 means n further owners, 0
 * one owner, -1 "leaked", an iterator is out and the text may not be shared.
 * One thread takes an iterator by begin(), another copies the string and drops the
 * copy.
 * The bug: begin() tests the count and then stores -1, copying tests it and then
 * increments; each test can be out of date when its store is made.
 * Fails (use after free) when the copy is made between begin()'s test and store, or
 * -1 is stored between the copy's test and increment: dropping the copy frees the
 * representation that the original still uses.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct rep {
    atomic_int refcount;
    char text[8];
};

struct string {
    struct rep *rep;
};

static struct rep *rep_new(const char *text)
{
    struct rep *r = malloc(sizeof *r);
    atomic_init(&r->refcount, 0);
    strcpy(r->text, text);
    return r;
}

static void rep_dispose(struct rep *r)
{
    if (atomic_fetch_sub(&r->refcount, 1) <= 0)
        free(r);
}

static struct rep *rep_grab(struct rep *r)
{
    if (atomic_load(&r->refcount) < 0)
        return rep_new(r->text);
    atomic_fetch_add(&r->refcount, 1);
    return r;
}

/* begin(): unshare, then let nobody share while the iterator is out. */
static char *string_begin(struct string *s)
{
    if (atomic_load(&s->rep->refcount) > 0) {
        struct rep *shared = s->rep;
        s->rep = rep_new(shared->text);
        rep_dispose(shared);
    }
    atomic_store(&s->rep->refcount, -1);
    return s->rep->text;
}

static void *iterate(void *arg)
{
    char *begin = string_begin(arg);
    return *begin == 'a' ? arg : NULL;
}

static void *copy(void *arg)
{
    const struct string *s = arg;
    struct string mine = { rep_grab(s->rep) };
    rep_dispose(mine.rep);
    return NULL;
}

int main(void)
{
    struct string s = { rep_new("abc") };
    pthread_t t1, t2;
    pthread_create(&t1, NULL, iterate, &s);
    pthread_create(&t2, NULL, copy, &s);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    rep_dispose(s.rep);
    return 0;
}
