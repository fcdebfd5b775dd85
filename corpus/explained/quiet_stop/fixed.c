// The fixed twin of quiet_stop.c: who stops the printer wakes it, too.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#define JOBS 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t jobs;
static int stopped;
static int printed;

static int is_stopped(void) {
  pthread_mutex_lock(&lock);
  int is = stopped;
  pthread_mutex_unlock(&lock);
  return is;
}

static void *printer(void *unused) {
  while (!is_stopped()) {
    sem_wait(&jobs);
    pthread_mutex_lock(&lock);
    if (printed < JOBS) printed++;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  sem_init(&jobs, 0, 0);
  pthread_create(&thread, 0, printer, 0);
  for (int i = 0; i < JOBS; i++) sem_post(&jobs);
  pthread_mutex_lock(&lock);
  stopped = 1;
  pthread_mutex_unlock(&lock);
  sem_post(&jobs);
  pthread_join(thread, 0);
  printf("%d printed\n", printed);
  sem_destroy(&jobs);
  return 0;
}
