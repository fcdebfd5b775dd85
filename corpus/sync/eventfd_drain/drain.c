// A consumer waits for an eventfd by epoll, takes what was put, and drains the eventfd.
// Bug: it drains after it took, so that a signal for what was put in between is lost.
// Shows when the second item is put between the consumer's look at the items and its read of the eventfd.
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ITEMS 2
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int items;
static int event, loop;

static void *produce(void *unused) {
  for (int i = 0; i < ITEMS; i++) {
    uint64_t one = 1;
    pthread_mutex_lock(&mutex);
    items++;
    pthread_mutex_unlock(&mutex);
    if (write(event, &one, sizeof one) != sizeof one) return 0;
  }
  return unused;
}

static int take(void) {
  pthread_mutex_lock(&mutex);
  int taken = items;
  items = 0;
  pthread_mutex_unlock(&mutex);
  return taken;
}

int main(void) {
  pthread_t producer;
  struct epoll_event wanted = {.events = EPOLLIN}, got;
  event = eventfd(0, 0);
  loop = epoll_create1(0);
  wanted.data.fd = event;
  epoll_ctl(loop, EPOLL_CTL_ADD, event, &wanted);
  pthread_create(&producer, 0, produce, 0);
  for (int taken = 0; taken < ITEMS;) {
    uint64_t count;
    epoll_wait(loop, &got, 1, -1);
    taken += take();
    if (read(event, &count, sizeof count) != sizeof count) return 1;
  }
  pthread_join(producer, 0);
  return 0;
}
