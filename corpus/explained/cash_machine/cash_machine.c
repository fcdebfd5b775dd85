/* Written for this corpus, after accounts that are overdrawn because the machine takes its time between looking and paying.
 *
 * Three cards of one account draw money at three machines. Each machine looks whether there is enough, counts the notes, which
 * takes its time, and takes the sum off the account.
 *
 * Bug: while one counts the others look, and there is still enough for each. Every run of an ordinary system overdraws; with what
 * each takes off counted in full it does so, too, and it passes only where one machine is done before the next one looks.
 */
#include <assert.h>
#include <pthread.h>
#include <time.h>

enum { MACHINES = 3, EACH = 80 };

static int balance = 100;
static int notes[MACHINES];

static void count_notes(int machine)
{
    struct timespec time = {0, 1000000};

    notes[machine] = EACH / 20;
    nanosleep(&time, NULL);
}

static void *draw(void *arg)
{
    int machine = *(int *)arg;

    if (balance >= EACH) {
        count_notes(machine);
        balance -= EACH;
    }
    return NULL;
}

int main(void)
{
    pthread_t machines[MACHINES];
    int numbers[MACHINES];

    for (int i = 0; i < MACHINES; i++) {
        numbers[i] = i;
        pthread_create(&machines[i], NULL, draw, &numbers[i]);
    }
    for (int i = 0; i < MACHINES; i++)
        pthread_join(machines[i], NULL);
    assert(balance >= 0);
    return 0;
}
