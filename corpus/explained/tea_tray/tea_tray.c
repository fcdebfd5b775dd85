// Two servers put cups on a tray that has room for one, two guests take them off; all of them wait at one condition
// variable, and each signals it when it has changed what is on the tray.
// Bug (wrong one woken): a signal that is meant for a server may wake a guest, who finds nothing and waits again.
// Shows when both guests wait and a server waits, too: the first guest's signal wakes the second guest, and the server, who could
// go on, sleeps for ever.
#include <pthread.h>

#define ROOM 1
#define PAIRS 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int cups;

static void *server(void *unused) {
  pthread_mutex_lock(&lock);
  while (cups == ROOM)
    pthread_cond_wait(&changed, &lock);
  cups++;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *guest(void *unused) {
  pthread_mutex_lock(&lock);
  while (cups == 0)
    pthread_cond_wait(&changed, &lock);
  cups--;
  pthread_cond_signal(&changed);
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
