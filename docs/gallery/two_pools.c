#include "thpool.h"

static void job(void *unused) { (void)unused; }

int main(void)
{
    threadpool first = thpool_init(1), second = thpool_init(1);
    thpool_destroy(first);
    thpool_add_work(second, job, (void *)0);
    thpool_wait(second);
    return 0;
}
