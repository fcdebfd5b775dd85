/*
 * gcc-25330, of ConcBugAssist's table 5.1 (86 lines, 3 threads, atomicity
 * violation; 2 causes of 1 constraint). The original is GCC bug 25330: the Java
 * front end writes a class into a temporary file and renames it, and all
 * compilers running at once use the same temporary name.
 * Two compilers (threads here) write the same class; the directory is kept in
 * memory, every system call being one step under its lock.
 * The bug: from the creation of the temporary file to its renaming the name must
 * belong to one compiler, and does not.
 * Fails (abort in fatal_error) when a compiler renames the file between the
 * other's creation and renaming of it: the second rename finds no file.
 */
#include <pthread.h>
#include <stdlib.h>

struct file {
    int exists;
    int length;
};

struct directory {
    pthread_mutex_t lock;
    struct file temporary; /* A.class.t */
    struct file class;     /* A.class */
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

static void write_classfile(struct directory *d)
{
    dir_create(d, &d->temporary);
    dir_write(d, &d->temporary, 100);
    if (dir_rename(d, &d->temporary, &d->class) == -1)
        fatal_error(); /* can't create A.class */
}

static void *compiler(void *arg)
{
    write_classfile(arg);
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;
    pthread_create(&t1, NULL, compiler, &dir);
    pthread_create(&t2, NULL, compiler, &dir);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
