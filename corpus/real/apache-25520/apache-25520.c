/*
 * apache-25520, of ConcBugAssist's table 5.1 (192 lines, 3 threads, data race;
 * 16 causes of 4 constraints). The original is Apache bug 25520: with buffered
 * logs, entries of different requests overwrite each other.
 * ap_buffered_log_writer copies an entry to the end of the buffer and moves the
 * end; it flushes first when the entry does not fit.
 * The bug: requests of different threads share the buffer without a lock.
 * Fails when one thread reads outcnt before the other has moved it: the entries
 * land in the same place, or one of the two moves is lost.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define LOG_BUFSIZE 16
#define ENTRY 3

struct buffered_log {
    int outcnt; /* bytes in use */
    char outbuf[LOG_BUFSIZE];
};

struct request {
    const char *line; /* ENTRY bytes */
};

static struct buffered_log log_buf;
static int flushed; /* bytes handed to the file */

static void flush_log(struct buffered_log *buf)
{
    flushed += buf->outcnt;
    buf->outcnt = 0;
}

static void ap_buffered_log_writer(struct buffered_log *buf, const char *str, int len)
{
    if (len + buf->outcnt > LOG_BUFSIZE)
        flush_log(buf);
    char *s = &buf->outbuf[buf->outcnt];
    for (int k = 0; k < len; k++)
        s[k] = str[k];
    buf->outcnt += len;
}

static void *log_transaction(void *arg)
{
    const struct request *r = arg;
    ap_buffered_log_writer(&log_buf, r->line, ENTRY);
    return NULL;
}

int main(void)
{
    struct request get = { "GET" }, put = { "PUT" };
    pthread_t t1, t2;
    pthread_create(&t1, NULL, log_transaction, &get);
    pthread_create(&t2, NULL, log_transaction, &put);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);

    int sum = 0;
    for (int k = 0; k < LOG_BUFSIZE; k++)
        sum += log_buf.outbuf[k];
    assert(flushed + log_buf.outcnt == 2 * ENTRY);
    assert(sum == 'G' + 'E' + 'T' + 'P' + 'U' + 'T');
    return 0;
}
