// kind: sync-misuse
// says: before sem_init: 'ready'
#include <semaphore.h>
static sem_t ready;
int main(void) {
    sem_post(&ready); // HERE
    return 0;
}
