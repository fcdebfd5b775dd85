// kind: sync-misuse
// says: 'meet'
#include <pthread.h>
static pthread_barrier_t meet;
int main(void) {
    pthread_barrier_wait(&meet); // HERE
    return 0;
}
