/*
 * glib-512624, of ConcBugAssist's table 5.1 (98 lines, 3 threads, atomicity
 * violation; 17 causes of 1.3 constraints). The original is GNOME bug 512624, in
 * GLib. The thesis gives only these figures, and that both threads run the same
 * lines; this is an atomicity violation of that shape in GLib's quarks.
 * A quark is the number of an interned string: looked up, and made if missing.
 * The bug: the look-up and the making each take the lock, but the lock is free in
 * between.
 * Fails when both threads look the same string up before either has made its
 * quark: the string gets two numbers.
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

static GQuark quark_lookup(const char *string)
{
    GQuark quark = 0;
    pthread_mutex_lock(&quark_global);
    for (GQuark q = 1; q < quark_seq_id; q++)
        if (strcmp(quarks[q], string) == 0)
            quark = q;
    pthread_mutex_unlock(&quark_global);
    return quark;
}

static GQuark quark_new(const char *string)
{
    pthread_mutex_lock(&quark_global);
    GQuark quark = quark_seq_id;
    quarks[quark] = string;
    quark_seq_id = quark + 1;
    pthread_mutex_unlock(&quark_global);
    return quark;
}

static GQuark g_quark_from_string(const char *string)
{
    GQuark quark = quark_lookup(string);
    if (quark == 0)
        quark = quark_new(string);
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
