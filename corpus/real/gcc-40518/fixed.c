/*
 * gcc-40518, repaired as in GCC: erase() does not touch the representation when there
 * is nothing to erase.
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
    if (s->rep->length == 0)
        return;
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
