/*
 * gcc-40518, of ConcBugAssist's table 5.1 (114 lines, 3 threads, data race; 2
 * causes of 2 constraints). The original is GCC bug 40518: in libstdc++ all empty
 * strings share one static representation, and erase() on an empty string writes
 * to it (count, length) although there is nothing to erase.
 * Each thread erases an empty string of its own and copies it; the copy of an
 * empty string is expected to be the shared representation, never a new one.
 * The bug: erase marks the representation as leaked (-1) while it works and as
 * sharable (0) when it is done, on memory that other threads' strings share.
 * Fails when a thread copies between the two stores of the other's erase.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct rep {
    int refcount; /* -1: leaked, may not be shared */
    size_t length;
};

struct string {
    struct rep *rep;
};

static struct rep empty_rep; /* of all empty strings */

static void set_leaked(struct rep *r)
{
    r->refcount = -1;
}

static void set_length_and_sharable(struct rep *r, size_t length)
{
    r->refcount = 0;
    r->length = length;
}

static void string_erase(struct string *s)
{
    set_leaked(s->rep);
    set_length_and_sharable(s->rep, 0);
}

static struct rep *rep_clone(const struct rep *r)
{
    struct rep *c = malloc(sizeof *c);
    c->refcount = 0;
    c->length = r->length;
    return c;
}

static struct string string_copy(const struct string *s)
{
    if (s->rep->refcount < 0)
        return (struct string){ rep_clone(s->rep) };
    return *s;
}

static void *do_work(void *arg)
{
    (void)arg;
    struct string s = { &empty_rep };
    string_erase(&s);
    struct string t = string_copy(&s);
    assert(t.rep == &empty_rep);
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;
    pthread_create(&t1, NULL, do_work, NULL);
    pthread_create(&t2, NULL, do_work, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
