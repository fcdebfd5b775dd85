/*
 * mysql-169, repaired: a statement writes to the log before it lets the table's
 * lock go, so the log has the order of the table.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct table {
    pthread_mutex_t lock;
    int row; /* 0: no row */
};

struct binlog {
    pthread_mutex_t lock_log;
    int value[2]; /* what each statement made of the row */
    int entries;
};

static struct table t = { .lock = PTHREAD_MUTEX_INITIALIZER, .row = 1 };
static struct binlog mysql_bin_log = { .lock_log = PTHREAD_MUTEX_INITIALIZER };

static void binlog_write(struct binlog *log, int value)
{
    pthread_mutex_lock(&log->lock_log);
    log->value[log->entries] = value;
    log->entries++;
    pthread_mutex_unlock(&log->lock_log);
}

static void *mysql_delete(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&t.lock);
    t.row = 0;
    binlog_write(&mysql_bin_log, 0);
    pthread_mutex_unlock(&t.lock);
    return NULL;
}

static void *mysql_insert(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&t.lock);
    t.row = 2;
    binlog_write(&mysql_bin_log, 2);
    pthread_mutex_unlock(&t.lock);
    return NULL;
}

/* What a replica makes of the log: the last statement decides. */
static int replay(const struct binlog *log)
{
    return log->value[log->entries - 1];
}

int main(void)
{
    pthread_t t1, t2;
    pthread_create(&t1, NULL, mysql_delete, NULL);
    pthread_create(&t2, NULL, mysql_insert, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    assert(replay(&mysql_bin_log) == t.row);
    return 0;
}
