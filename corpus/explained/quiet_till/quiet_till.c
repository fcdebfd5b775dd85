// A cook puts dishes on a counter, a waiter takes them away; both wait while they cannot.
// Bug: the waiter never says that there is room again.
// Shows when the counter is full: the waiter makes room, and the cook sleeps on.
#include <pthread.h>

#define ROOM 1
#define DISHES 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_cond_t emptied = PTHREAD_COND_INITIALIZER;
static int dishes;

static void *cook(void *unused) {
  for (int i = 0; i < DISHES; i++) {
    pthread_mutex_lock(&lock);
    while (dishes == ROOM) pthread_cond_wait(&emptied, &lock);
    dishes++;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, cook, 0);
  for (int i = 0; i < DISHES; i++) {
    pthread_mutex_lock(&lock);
    while (dishes == 0) pthread_cond_wait(&filled, &lock);
    dishes--;
    pthread_mutex_unlock(&lock);
  }
  pthread_join(thread, 0);
  return 0;
}
