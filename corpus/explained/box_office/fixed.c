/* Written for this corpus, after programs that sleep where they stand for work: every run shows the bug, and still it is one of order.
 *
 * Five windows of a theatre sell a seat each: they look how many are sold, print the ticket, which takes its time, and note
 * one more.
 *
 * Fixed: a window has the till until it has noted what it sold.
 */
#include <assert.h>
#include <pthread.h>
#include <time.h>

enum { WINDOWS = 5 };

static int sold;
static pthread_mutex_t till = PTHREAD_MUTEX_INITIALIZER;

static void print_ticket(int seat)
{
    struct timespec time = {0, 200000 + seat};

    nanosleep(&time, NULL);
}

static void *window(void *arg)
{
    int seat;

    pthread_mutex_lock(&till);
    seat = sold;
    print_ticket(seat);
    sold = seat + 1;
    pthread_mutex_unlock(&till);
    return arg;
}

int main(void)
{
    pthread_t windows[WINDOWS];

    for (int i = 0; i < WINDOWS; i++)
        pthread_create(&windows[i], NULL, window, NULL);
    for (int i = 0; i < WINDOWS; i++)
        pthread_join(windows[i], NULL);
    assert(sold == WINDOWS);
    return 0;
}
