/*
 * mysql-3596, repaired: proc_info is read and set under a lock of the session, and
 * the monitor prints the one value it has tested.
 */
#include <pthread.h>
#include <stdio.h>

#define PAGE 64

struct thd {
    pthread_mutex_t lock;
    int thread_id;
    const char *proc_info; /* what the statement is doing, NULL when idle; under lock */
};

struct page {
    char text[PAGE];
    int len;
};

static void page_puts(struct page *p, const char *s)
{
    for (; *s != '\0'; s++)
        p->text[p->len++] = *s;
    p->text[p->len] = '\0';
}

/* ha_innodb.cc */
static void innobase_mysql_print_thd(struct page *p, struct thd *thd)
{
    pthread_mutex_lock(&thd->lock);
    const char *proc_info = thd->proc_info;
    pthread_mutex_unlock(&thd->lock);
    if (proc_info) {
        page_puts(p, proc_info);
    }
}

/* sql_parse.cc */
static void dispatch_command(struct thd *thd)
{
    pthread_mutex_lock(&thd->lock);
    thd->proc_info = NULL;
    pthread_mutex_unlock(&thd->lock);
}

static void *session(void *arg)
{
    dispatch_command(arg);
    return NULL;
}

static void *innodb_monitor(void *arg)
{
    static struct page status;
    innobase_mysql_print_thd(&status, arg);
    puts(status.text);
    return NULL;
}

int main(void)
{
    static struct thd thd = { .lock = PTHREAD_MUTEX_INITIALIZER, .thread_id = 1, .proc_info = "query" };
    pthread_t t1, t2;
    pthread_create(&t1, NULL, innodb_monitor, &thd);
    pthread_create(&t2, NULL, session, &thd);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
