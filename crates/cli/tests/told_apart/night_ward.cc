// Written for this corpus: a ward with several bugs at once.
//
// The bug that is told here: two nurses see that a bed is free and both take it; the second asserts that there was one.
// In the order 24 (T0.1) -> 24 (T0.2) -> 25 (T0.1) -> 25 (T0.2) there are fewer than none. In many other schedules the ward
// fails otherwise: the porter and the cook take two keys in opposite orders and block each other, and meals are counted
// by two threads without a lock. The first failure ends the run, so each of the bugs hides the others.
#include <cassert>
#include <mutex>
#include <thread>

struct Ward {
  int beds = 1;
  int admitted = 0;
  int meals = 0;
  std::mutex lift;
  std::mutex store;
};

static Ward ward;

static void admit() {
  bool taken = false;

  if (ward.beds > 0) {
    ward.beds = ward.beds - 1;
    taken = true;
  }
  if (taken)
    assert(ward.beds >= 0);
}

static void carry() {
  std::lock_guard<std::mutex> first(ward.lift);
  std::lock_guard<std::mutex> second(ward.store);
  ward.admitted++;
}

static void cook() {
  std::lock_guard<std::mutex> first(ward.store);
  std::lock_guard<std::mutex> second(ward.lift);
  ward.admitted++;
}

static void serve() { ward.meals++; }

int main() {
  std::thread threads[] = {std::thread(admit), std::thread(admit), std::thread(carry),
                           std::thread(cook),  std::thread(serve), std::thread(serve)};
  for (std::thread &thread : threads)
    thread.join();
  assert(ward.meals == 2);
  return 0;
}
