// std::thread and its relatives: results that do not depend on the schedule.
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
static std::mutex lock;
static std::recursive_mutex recursive;
static std::timed_mutex timed;
static std::shared_mutex shared;
static std::once_flag once;
static int plain, calls;
static std::atomic<int> counter{0};
struct PerThread { int id = 0; PerThread() { made++; } ~PerThread() { gone += id; } static std::atomic<int> made, gone; };
std::atomic<int> PerThread::made{0}, PerThread::gone{0};
static thread_local PerThread per_thread;
static thread_local int zeroed;

template <class T> class Queue { std::queue<T> items; std::mutex m; std::condition_variable ready; bool closed = false;
public: void push(T t) { { std::lock_guard g(m); items.push(std::move(t)); } ready.notify_one(); } void close() { std::lock_guard g(m); closed = true; ready.notify_all(); } bool pop(T &t) { std::unique_lock l(m); ready.wait(l, [&] { return closed || !items.empty(); }); if (items.empty()) return false; t = std::move(items.front()); items.pop(); return true; } };
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static long parallel(std::vector<int>::iterator b, std::vector<int>::iterator e) { if (e - b < 50) return std::accumulate(b, e, 0L); auto m = b + (e - b) / 2; auto half = std::async(std::launch::async, parallel, b, m); return parallel(m, e) + half.get(); }
struct Functor { int n; void operator()(int &out, std::string s) const { out = n + (int)s.size(); } };
struct Worker { int state = 0; void add(int x) { state += x; } };

int main() {
    std::vector<std::thread> all; for (int i = 0; i < 4; i++) all.emplace_back([i] { for (int k = 0; k < 25; k++) { std::lock_guard g(lock); plain += i; counter++; } }); for (auto &t : all) t.join(); printf("%d %d\n", plain, counter.load());
    int out = 0; std::thread f(Functor{5}, std::ref(out), "four"); f.join(); Worker w; std::thread member(&Worker::add, &w, 7); member.join(); auto owned = std::make_unique<int>(3); std::thread moved([p = std::move(owned)] { plain = *p; }); std::thread taken = std::move(moved); printf("%d %d %d %d ", out, w.state, moved.joinable(), taken.joinable()); taken.join(); printf("%d %d\n", plain, taken.get_id() == std::thread::id());
    for (int i = 0; i < 3; i++) all[i] = std::thread([] { std::call_once(once, [] { calls++; }); recursive.lock(); recursive.lock(); plain++; recursive.unlock(); recursive.unlock(); }); for (int i = 0; i < 3; i++) all[i].join(); printf("%d %d\n", calls, plain); std::once_flag again; int tries = 0; for (int i = 0; i < 3; i++) try { std::call_once(again, [&] { if (++tries < 3) throw tries; }); printf("done "); } catch (int n) { printf("thrown %d ", n); } printf("%d\n", tries);
    timed.lock(); std::thread([] { printf("%d %d ", timed.try_lock(), timed.try_lock_for(1ms)); }).join(); timed.unlock(); printf("%d\n", timed.try_lock_for(1ms)); timed.unlock(); { std::unique_lock u(lock, std::defer_lock); printf("%d %d ", u.owns_lock(), u.try_lock()); u.unlock(); u.lock(); printf("%d\n", (bool)u); } { std::mutex a, b; std::scoped_lock both(a, b); printf("%d ", a.try_lock()); } { std::mutex a, b; std::lock(a, b); std::lock_guard ga(a, std::adopt_lock), gb(b, std::adopt_lock); printf("%d\n", 1); }
    int readers = 0; std::atomic<int> peak{0}; for (int i = 0; i < 4; i++) all[i] = std::thread([&, i] { if (i == 0) { std::unique_lock l(shared); readers += 10; } else { std::shared_lock l(shared); peak += readers >= 0; } }); for (auto &t : all) t.join(); printf("%d %d\n", readers, peak.load()); shared.lock(); printf("%d ", shared.try_lock_shared()); shared.unlock(); shared.lock_shared(); printf("%d %d\n", shared.try_lock_shared(), shared.try_lock()); shared.unlock_shared(); shared.unlock_shared(); std::shared_timed_mutex stm; printf("%d\n", stm.try_lock_for(1ms)); stm.unlock();
    Queue<std::string> queue; std::atomic<size_t> eaten{0}; for (int i = 0; i < 2; i++) all[i] = std::thread([&] { std::string s; while (queue.pop(s)) eaten += s.size(); }); for (int i = 0; i < 20; i++) queue.push(std::string((size_t)i, 'x')); queue.close(); all[0].join(); all[1].join(); printf("%zu\n", eaten.load()); std::condition_variable cv; std::unique_lock ul(lock); printf("%d ", cv.wait_for(ul, 1ms) == std::cv_status::timeout); printf("%d\n", cv.wait_until(ul, std::chrono::steady_clock::now() + 1ms, [] { return false; })); ul.unlock(); std::condition_variable_any any; std::shared_lock sl(shared); printf("%d\n", any.wait_for(sl, 1ms, [] { return false; })); sl.unlock(); bool go = false; std::thread waiter([&] { std::shared_lock l(shared); any.wait(l, [&] { return go; }); printf("woken\n"); }); { std::unique_lock l(shared); go = true; } any.notify_all(); waiter.join();
    auto async = std::async(std::launch::async, fib, 15); auto lazy = std::async(std::launch::deferred, fib, 10); printf("%d %d %d\n", lazy.wait_for(0s) == std::future_status::deferred, async.get(), lazy.get()); std::promise<std::string> promise; auto future = promise.get_future(); printf("%d ", future.wait_for(1ms) == std::future_status::timeout); std::thread setter([&] { promise.set_value("promised"); }); printf("%s %d\n", future.get().c_str(), future.valid()); setter.join(); auto failing = std::async(std::launch::async, []() -> int { throw std::runtime_error("in a thread"); }); try { failing.get(); } catch (std::exception &e) { printf("%s\n", e.what()); } std::packaged_task<int(int, int)> task([](int a, int b) { return a * b; }); auto product = task.get_future(); std::thread runner(std::move(task), 6, 7); printf("%d\n", product.get()); runner.join(); std::shared_future<int> sf = std::async(std::launch::async, [] { return 9; }).share(); std::thread s1([sf] { counter += sf.get(); }), s2([sf] { counter += sf.get(); }); s1.join(); s2.join(); printf("%d\n", counter.load()); try { std::promise<int> broken; auto bf = broken.get_future(); { auto dropped = std::move(broken); } bf.get(); } catch (std::future_error &e) { printf("%d\n", e.code() == std::future_errc::broken_promise); } std::vector<int> numbers(200); std::iota(numbers.begin(), numbers.end(), 1); printf("%ld\n", parallel(numbers.begin(), numbers.end())); std::promise<void> vp; auto vf = vp.get_future(); std::thread vt([&] { vp.set_value(); }); vf.get(); vt.join(); std::promise<int &> rp; rp.set_value(plain); rp.get_future().get() = 77; printf("%d\n", plain);
    for (int i = 0; i < 3; i++) all[i] = std::thread([i] { per_thread.id = i + 1; zeroed += i; }); for (int i = 0; i < 3; i++) all[i].join(); printf("%d %d %d\n", PerThread::made.load(), PerThread::gone.load(), zeroed); std::atomic<int> ai{5}; int expect = 4; printf("%d %d %d ", ai.compare_exchange_strong(expect, 9), expect, ai.compare_exchange_weak(expect, 9)); printf("%d %d %d %d\n", ai.exchange(3), ai.fetch_add(4), ai.fetch_or(8), (int)ai); std::atomic<double> ad{1.5}; ad.fetch_add(2.25); std::atomic<bool> ab{false}; std::atomic_flag flag = ATOMIC_FLAG_INIT; printf("%g %d %d %d\n", ad.load(), ab.exchange(true), flag.test_and_set(), flag.test()); std::atomic<std::shared_ptr<int>> asp(std::make_shared<int>(4)); auto old = asp.exchange(std::make_shared<int>(5)); printf("%d %d\n", *old, *asp.load()); int raw = 10; std::atomic_ref<int> ref(raw); ref += 5; printf("%d\n", raw); struct Two { int a, b; }; std::atomic<Two> two{{1, 2}}; two.store({3, 4}); printf("%d\n", two.load().b);
    std::atomic<int> stage{0}; std::thread notified([&] { stage.wait(0); stage = 2; stage.notify_all(); }); stage = 1; stage.notify_one(); stage.wait(1); notified.join(); printf("%d\n", stage.load()); std::latch latch(3); std::atomic<int> arrived{0}; for (int i = 0; i < 3; i++) all[i] = std::thread([&] { arrived++; latch.count_down(); }); latch.wait(); printf("%d\n", arrived.load()); for (int i = 0; i < 3; i++) all[i].join(); int phases = 0; std::barrier barrier(3, [&]() noexcept { phases++; }); for (int i = 0; i < 3; i++) all[i] = std::thread([&] { for (int k = 0; k < 4; k++) barrier.arrive_and_wait(); }); for (int i = 0; i < 3; i++) all[i].join(); printf("%d\n", phases); std::counting_semaphore<4> sem(2); sem.acquire(); sem.acquire(); printf("%d ", sem.try_acquire()); std::thread releaser([&] { sem.release(2); }); sem.acquire(); releaser.join(); printf("%d %d\n", sem.try_acquire(), sem.try_acquire_for(1ms)); std::binary_semaphore bin(0); std::thread poster([&] { bin.release(); }); bin.acquire(); poster.join();
    int turns = 0; { std::jthread j([&](std::stop_token st) { while (!st.stop_requested()) { std::lock_guard g(lock); if (++turns > 1000000) break; std::this_thread::yield(); } }); std::this_thread::sleep_for(1ms); j.request_stop(); } printf("%d\n", turns >= 0); std::stop_source source; int stopped = 0; { std::stop_callback cb(source.get_token(), [&] { stopped++; }); source.request_stop(); } printf("%d\n", stopped); printf("%d\n", std::thread::hardware_concurrency() > 0); std::thread detached([] { counter = 1000; }); detached.detach(); while (counter != 1000) std::this_thread::sleep_for(1ms); printf("%d\n", std::this_thread::get_id() != std::thread::id()); try { std::mutex m; std::unique_lock l(m, std::defer_lock); l.unlock(); } catch (std::system_error &e) { printf("%d\n", e.code() == std::errc::operation_not_permitted); } try { std::thread none; none.join(); } catch (std::system_error &e) { printf("%d\n", e.code() == std::errc::invalid_argument); }
    return 0;
}
