// Three customers share two trolleys; who finds none waits until one is brought back.
// Bug: trolleys are brought back without a word.
// Shows when a customer waits for one of those that the other two have.
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex mutex;
static std::condition_variable back;
static int trolleys = 2;

static void shop() {
  {
    std::unique_lock<std::mutex> lock(mutex);
    back.wait(lock, [] { return trolleys > 0; });
    --trolleys;
  }
  std::lock_guard<std::mutex> lock(mutex);
  ++trolleys;
}

int main() {
  std::thread a(shop), b(shop), c(shop);
  a.join();
  b.join();
  c.join();
}
