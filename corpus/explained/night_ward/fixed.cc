// night_ward.cc, mended: beds and meals have a lock, and the keys are taken in one order.
#include <cassert>
#include <mutex>
#include <thread>

struct Ward {
  int beds = 1;
  int admitted = 0;
  int meals = 0;
  std::mutex book;
  std::mutex lift;
  std::mutex store;
};

static Ward ward;

static void admit() {
  std::lock_guard<std::mutex> entry(ward.book);
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
  std::lock_guard<std::mutex> first(ward.lift);
  std::lock_guard<std::mutex> second(ward.store);
  ward.admitted++;
}

static void serve() {
  std::lock_guard<std::mutex> entry(ward.book);
  ward.meals++;
}

int main() {
  std::thread threads[] = {std::thread(admit), std::thread(admit), std::thread(carry),
                           std::thread(cook),  std::thread(serve), std::thread(serve)};
  for (std::thread &thread : threads)
    thread.join();
  assert(ward.meals == 2);
  return 0;
}
