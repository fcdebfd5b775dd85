/* Written for this corpus: an election office.
 *
 * Four counters count the votes of a ward each and write down the result. The office adds the results up as soon as
 * it has sent the counters out: it waits for none of them. To wait for one is not enough, all four have to be
 * back.
 *
 * Fails whenever a counter has not written its result when the office comes to its place.
 */
#include <assert.h>
#include <pthread.h>

#define WARDS 4

static const int ballots[WARDS] = {11, 7, 23, 5};
static int counted[WARDS];

static void *count(void *arg) {
  int ward = *(const int *)arg;
  counted[ward] = ballots[ward];
  return 0;
}

int main(void) {
  static const int wards[WARDS] = {0, 1, 2, 3};
  pthread_t counters[WARDS];
  int sum = 0;
  for (int i = 0; i < WARDS; i++)
    pthread_create(&counters[i], 0, count, (void *)&wards[i]);
  for (int i = 0; i < WARDS; i++)
    sum += counted[i];
  assert(sum == 46);
  for (int i = 0; i < WARDS; i++)
    pthread_join(counters[i], 0);
  return 0;
}
