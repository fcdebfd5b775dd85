/*
 * mysql-644, of ConcBugAssist's table 5.1 (165 lines, 3 threads, order violation;
 * 1 cause of 2 constraints). The original is MySQL bug 644, by way of Lu et al.'s
 * study. The thesis gives only these figures; this is the order violation of that
 * shape in MySQL's handling of connections, a session used before it is complete.
 * A new session enters the server's list of threads and then sets mysys_var, its
 * own part of the thread library; KILL looks the session up and wakes it by it.
 * The bug: the session can be found before mysys_var is set.
 * Fails (null dereference) when KILL finds the session in the list and reads
 * mysys_var before store_globals has set it.
 */
#include <pthread.h>
#include <stddef.h>

struct st_my_thread_var {
    pthread_mutex_t mutex;
    int abort; /* wake up and give up */
};

struct thd {
    unsigned long thread_id;
    struct st_my_thread_var *mysys_var;
    struct thd *next;
};

static pthread_mutex_t LOCK_thread_count = PTHREAD_MUTEX_INITIALIZER;
static struct thd *threads; /* all sessions, under LOCK_thread_count */

static void link_in(struct thd *thd)
{
    pthread_mutex_lock(&LOCK_thread_count);
    thd->next = threads;
    threads = thd;
    pthread_mutex_unlock(&LOCK_thread_count);
}

static void store_globals(struct thd *thd, struct st_my_thread_var *var)
{
    pthread_mutex_init(&var->mutex, NULL);
    thd->mysys_var = var;
}

static void *handle_one_connection(void *arg)
{
    static struct st_my_thread_var my_thread_var;
    struct thd *thd = arg;
    link_in(thd);
    store_globals(thd, &my_thread_var);
    return NULL;
}

static void awake(struct thd *thd)
{
    struct st_my_thread_var *var = thd->mysys_var;
    var->abort = 1;
}

static void *kill_one_thread(void *arg)
{
    unsigned long id = *(unsigned long *)arg;
    pthread_mutex_lock(&LOCK_thread_count);
    struct thd *thd = threads;
    while (thd != NULL && thd->thread_id != id)
        thd = thd->next;
    pthread_mutex_unlock(&LOCK_thread_count);
    if (thd != NULL)
        awake(thd);
    return NULL;
}

int main(void)
{
    static struct thd thd = { .thread_id = 7 };
    unsigned long id = 7;
    pthread_t t1, t2;
    pthread_create(&t1, NULL, handle_one_connection, &thd);
    pthread_create(&t2, NULL, kill_one_thread, &id);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
