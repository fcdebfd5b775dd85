// A producer hands an item over by a byte in a pipe, as event loops do.
// Bug: the byte is written before the item is filled.
// Shows when the consumer reads the byte and the item before the producer has gone on.
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static int item;
static int ends[2];

static void *produce(void *unused) {
  char byte = 1;
  if (write(ends[1], &byte, 1) != 1) return 0;
  item = 42;
  return unused;
}

static void *consume(void *unused) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) return 0;
  assert(item == 42);
  return unused;
}

int main(void) {
  pthread_t producer, consumer;
  if (pipe(ends) != 0) return 1;
  pthread_create(&consumer, 0, consume, 0);
  pthread_create(&producer, 0, produce, 0);
  pthread_join(producer, 0);
  pthread_join(consumer, 0);
  return 0;
}
