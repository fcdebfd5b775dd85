/*
 * gcc-21334, repaired as in the string of C++11: representations are never shared, a
 * copy has a text of its own.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct rep {
    char text[8];
};

struct string {
    struct rep *rep;
};

static struct rep *rep_new(const char *text)
{
    struct rep *r = malloc(sizeof *r);
    strcpy(r->text, text);
    return r;
}

static void rep_dispose(struct rep *r)
{
    free(r);
}

static struct rep *rep_grab(struct rep *r)
{
    return rep_new(r->text);
}

static char *string_begin(struct string *s)
{
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
