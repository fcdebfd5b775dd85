/*
 * gcc-25330, repaired as in GCC: every compiler has a temporary file name of its own
 * (there made of the process id).
 */
#include <pthread.h>
#include <stdlib.h>

struct file {
    int exists;
    int length;
};

struct directory {
    pthread_mutex_t lock;
    struct file temporary[2]; /* A.class.t1, A.class.t2 */
    struct file class;        /* A.class */
};

static struct directory dir = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void dir_create(struct directory *d, struct file *f)
{
    pthread_mutex_lock(&d->lock);
    f->exists = 1;
    f->length = 0;
    pthread_mutex_unlock(&d->lock);
}

static void dir_write(struct directory *d, struct file *f, int length)
{
    pthread_mutex_lock(&d->lock);
    f->length += length;
    pthread_mutex_unlock(&d->lock);
}

static int dir_rename(struct directory *d, struct file *from, struct file *to)
{
    pthread_mutex_lock(&d->lock);
    int found = from->exists;
    if (found) {
        *to = *from;
        from->exists = 0;
    }
    pthread_mutex_unlock(&d->lock);
    return found ? 0 : -1;
}

static void fatal_error(void)
{
    abort();
}

static void write_classfile(struct directory *d, struct file *temporary)
{
    dir_create(d, temporary);
    dir_write(d, temporary, 100);
    if (dir_rename(d, temporary, &d->class) == -1)
        fatal_error(); /* can't create A.class */
}

static void *compiler(void *arg)
{
    write_classfile(&dir, arg);
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;
    pthread_create(&t1, NULL, compiler, &dir.temporary[0]);
    pthread_create(&t2, NULL, compiler, &dir.temporary[1]);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
