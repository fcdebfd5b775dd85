/*
 * cherokee-0.9.2, of ConcBugAssist's table 5.1 (188 lines, 3 threads, atomicity
 * violation; 11 causes of 3.1 constraints). The original is a bug of the Cherokee
 * web server, from Yu and Narayanasamy's collection: log entries are lost or
 * repeated, since copying into a buffer and counting what is in it are assumed to
 * be one step.
 * A connection's thread adds entries to the logger's buffer; another thread
 * flushes the buffer to the log file.
 * The bug: cherokee_buffer_add copies behind `len` and adds to `len` without a
 * lock, and the flush empties the buffer in between.
 * Fails when the flush clears `len` in the middle of an add, or an add ends between
 * the flush's reading and its clearing of `len`.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define SIZE 3

struct cherokee_buffer {
    int buf[SIZE]; /* log entries, by their status */
    int len;       /* entries in use */
};

struct logger {
    struct cherokee_buffer buffer;
    int file[3 * SIZE]; /* the log file */
    int file_len;
};

static struct logger logger;

static void cherokee_buffer_add(struct cherokee_buffer *b, int entry)
{
    b->buf[b->len] = entry;
    b->len += 1;
}

static void logger_flush(struct logger *l)
{
    int len = l->buffer.len;
    for (int k = 0; k < SIZE; k++) /* a whole block, of which len entries count */
        l->file[l->file_len + k] = l->buffer.buf[k];
    l->file_len += len;
    l->buffer.len = 0;
}

static void *connection(void *arg)
{
    struct logger *l = arg;
    cherokee_buffer_add(&l->buffer, 200);
    cherokee_buffer_add(&l->buffer, 404);
    return NULL;
}

static void *flusher(void *arg)
{
    struct logger *l = arg;
    logger_flush(l);
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;
    pthread_create(&t1, NULL, connection, &logger);
    pthread_create(&t2, NULL, flusher, &logger);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    logger_flush(&logger);
    assert(logger.file_len == 2 && logger.file[0] == 200 && logger.file[1] == 404);
    return 0;
}
