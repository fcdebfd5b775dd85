/*
 * glib-512624, repaired: looking up and making a quark are one critical section.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define MAX_QUARKS 8

typedef unsigned GQuark; /* 0: none */

static pthread_mutex_t quark_global = PTHREAD_MUTEX_INITIALIZER;
static const char *quarks[MAX_QUARKS] = { NULL, "destroy" }; /* under quark_global */
static GQuark quark_seq_id = 2;

/* The caller holds quark_global, here and in quark_new. */
static GQuark quark_lookup(const char *string)
{
    GQuark quark = 0;
    for (GQuark q = 1; q < quark_seq_id; q++)
        if (strcmp(quarks[q], string) == 0)
            quark = q;
    return quark;
}

static GQuark quark_new(const char *string)
{
    GQuark quark = quark_seq_id;
    quarks[quark] = string;
    quark_seq_id = quark + 1;
    return quark;
}

static GQuark g_quark_from_string(const char *string)
{
    pthread_mutex_lock(&quark_global);
    GQuark quark = quark_lookup(string);
    if (quark == 0)
        quark = quark_new(string);
    pthread_mutex_unlock(&quark_global);
    return quark;
}

static void *class_init(void *arg)
{
    GQuark *quark = arg;
    *quark = g_quark_from_string("notify");
    return NULL;
}

int main(void)
{
    GQuark q1 = 0, q2 = 0;
    pthread_t t1, t2;
    pthread_create(&t1, NULL, class_init, &q1);
    pthread_create(&t2, NULL, class_init, &q2);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    assert(q1 == q2);
    return 0;
}
