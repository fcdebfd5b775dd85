/*
 * mozilla-61369, of ConcBugAssist's table 5.1 (68 lines, 3 threads, order
 * violation; 1 cause of 1 constraint). The original is Mozilla bug 61369, also in
 * Lu et al.'s study: nsThread::Init stores the thread that PR_CreateThread makes
 * in mThread, and the new thread uses mThread at once.
 * The bug: the thread can run before PR_CreateThread has returned to Init.
 * Fails (null dereference) when nsThread::Main reads mThread before Init has
 * stored it.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

enum pr_state { PR_UNJOINABLE_THREAD, PR_JOINABLE_THREAD };

/* nspr */
struct pr_thread {
    pthread_t id;
    enum pr_state state;
};

static struct pr_thread *pr_create_thread(void *(*start)(void *), void *arg, enum pr_state state)
{
    struct pr_thread *t = malloc(sizeof *t);
    t->state = state;
    pthread_create(&t->id, NULL, start, arg);
    return t;
}

static void pr_join_thread(struct pr_thread *t)
{
    pthread_join(t->id, NULL);
    free(t);
}

/* xpcom */
struct ns_thread {
    struct pr_thread *m_thread;
    enum pr_state m_state;
};

static void *ns_thread_main(void *arg)
{
    struct ns_thread *self = arg;
    struct pr_thread *t = self->m_thread;
    self->m_state = t->state;
    return NULL;
}

static void ns_thread_init(struct ns_thread *self)
{
    struct pr_thread *t = pr_create_thread(ns_thread_main, self, PR_JOINABLE_THREAD);
    self->m_thread = t;
}

int main(void)
{
    static struct ns_thread thread;
    ns_thread_init(&thread);
    pr_join_thread(thread.m_thread);
    return 0;
}
