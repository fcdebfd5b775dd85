/*
 * cherokee-0.9.2, repaired: entries are added and flushed under the logger's lock.
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
    pthread_mutex_t mutex;
    struct cherokee_buffer buffer;
    int file[3 * SIZE]; /* the log file */
    int file_len;
};

static struct logger logger = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void cherokee_buffer_add(struct cherokee_buffer *b, int entry)
{
    b->buf[b->len] = entry;
    b->len += 1;
}

static void logger_write(struct logger *l, int entry)
{
    pthread_mutex_lock(&l->mutex);
    cherokee_buffer_add(&l->buffer, entry);
    pthread_mutex_unlock(&l->mutex);
}

static void logger_flush(struct logger *l)
{
    pthread_mutex_lock(&l->mutex);
    int len = l->buffer.len;
    for (int k = 0; k < SIZE; k++) /* a whole block, of which len entries count */
        l->file[l->file_len + k] = l->buffer.buf[k];
    l->file_len += len;
    l->buffer.len = 0;
    pthread_mutex_unlock(&l->mutex);
}

static void *connection(void *arg)
{
    struct logger *l = arg;
    logger_write(l, 200);
    logger_write(l, 404);
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
