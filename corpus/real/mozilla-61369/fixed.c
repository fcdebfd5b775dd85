/*
 * mozilla-61369, repaired: Init holds a lock until it has stored the new thread, and
 * the thread takes it before its first use.
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
    pthread_mutex_t lock;
    struct pr_thread *m_thread;
    enum pr_state m_state;
};

static void *ns_thread_main(void *arg)
{
    struct ns_thread *self = arg;
    pthread_mutex_lock(&self->lock);
    struct pr_thread *t = self->m_thread;
    pthread_mutex_unlock(&self->lock);
    self->m_state = t->state;
    return NULL;
}

static void ns_thread_init(struct ns_thread *self)
{
    pthread_mutex_lock(&self->lock);
    struct pr_thread *t = pr_create_thread(ns_thread_main, self, PR_JOINABLE_THREAD);
    self->m_thread = t;
    pthread_mutex_unlock(&self->lock);
}

int main(void)
{
    static struct ns_thread thread = { .lock = PTHREAD_MUTEX_INITIALIZER };
    ns_thread_init(&thread);
    pr_join_thread(thread.m_thread);
    return 0;
}
