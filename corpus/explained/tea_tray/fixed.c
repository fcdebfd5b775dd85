// The fixed twin of tea_tray.c: servers and guests wait at a condition variable each.
#include <pthread.h>

#define ROOM 1
#define PAIRS 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_cond_t emptied = PTHREAD_COND_INITIALIZER;
static int cups;

static void *server(void *unused) {
  pthread_mutex_lock(&lock);
  while (cups == ROOM)
    pthread_cond_wait(&emptied, &lock);
  cups++;
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *guest(void *unused) {
  pthread_mutex_lock(&lock);
  while (cups == 0)
    pthread_cond_wait(&filled, &lock);
  cups--;
  pthread_cond_signal(&emptied);
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_t servers[PAIRS], guests[PAIRS];
  for (int i = 0; i < PAIRS; i++) {
    pthread_create(&servers[i], 0, server, 0);
    pthread_create(&guests[i], 0, guest, 0);
  }
  for (int i = 0; i < PAIRS; i++) {
    pthread_join(servers[i], 0);
    pthread_join(guests[i], 0);
  }
  return 0;
}
