// The fixed twin of last_orders.c: closing the pipe wakes who reads from it.
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int orders[2];
static int closed;

static int is_closed(void) {
  pthread_mutex_lock(&lock);
  int is = closed;
  pthread_mutex_unlock(&lock);
  return is;
}

static void *kitchen(void *unused) {
  char dish;
  if (is_closed()) return unused;
  while (read(orders[0], &dish, 1) == 1) {
    if (is_closed()) break;
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  if (pipe(orders) != 0) return 2;
  pthread_create(&thread, 0, kitchen, 0);
  pthread_mutex_lock(&lock);
  closed = 1;
  pthread_mutex_unlock(&lock);
  close(orders[1]);
  pthread_join(thread, 0);
  return 0;
}
