/*
 * mysql-3596, of ConcBugAssist's table 5.1 (83 lines, 3 threads, there called an
 * order violation; 1 cause). The original is MySQL bug 3596, also figure 1 of Lu
 * et al.'s study of concurrency bugs: InnoDB's monitor prints what a session is
 * doing (thd->proc_info) while the session ends its statement.
 * The bug: innobase_mysql_print_thd tests thd->proc_info and reads it again to
 * print it; the session's thread sets it to NULL without telling anyone.
 * Fails (null dereference) when the NULL is stored between the test and the
 * second read.
 */
#include <pthread.h>
#include <stdio.h>

#define PAGE 64

struct thd {
    int thread_id;
    const char *proc_info; /* what the statement is doing, NULL when idle */
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
    if (thd->proc_info) {
        page_puts(p, thd->proc_info);
    }
}

/* sql_parse.cc */
static void dispatch_command(struct thd *thd)
{
    thd->proc_info = NULL;
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
    static struct thd thd = { .thread_id = 1, .proc_info = "query" };
    pthread_t t1, t2;
    pthread_create(&t1, NULL, innodb_monitor, &thd);
    pthread_create(&t2, NULL, session, &thd);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
