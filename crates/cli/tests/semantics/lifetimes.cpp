// Who is destroyed when: thread states, thread-locals, statics, exceptions that cross native code or threads.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <locale>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> alive{0};
struct Tracked { int id; explicit Tracked(int id) : id(id) { alive++; } Tracked(const Tracked &o) : id(o.id) { alive++; } Tracked(Tracked &&o) noexcept : id(o.id) { alive++; } ~Tracked() { alive--; } };
struct Logged { const char *name; explicit Logged(const char *name) : name(name) { printf("make %s\n", name); } ~Logged() { printf("drop %s\n", name); } };
static Logged first_global("first global"), second_global("second global");
static Logged &in_function() { static Logged local("function static"); return local; }
static thread_local Logged thread_logged("thread local");
struct Throwing : std::streambuf { int overflow(int c) override { if (c == '!') throw std::runtime_error("refused"); kept += (char)c; return c; } std::string kept; };
struct Counting : std::pmr::memory_resource { size_t given = 0, back = 0; void *do_allocate(size_t n, size_t a) override { given += n; return std::pmr::new_delete_resource()->allocate(n, a); } void do_deallocate(void *p, size_t n, size_t a) override { back += n; std::pmr::new_delete_resource()->deallocate(p, n, a); } bool do_is_equal(const memory_resource &o) const noexcept override { return this == &o; } };
struct Comma : std::numpunct<char> { char do_decimal_point() const override { return ','; } std::string do_grouping() const override { return "\3"; } char do_thousands_sep() const override { return '.'; } };
static int compare(const void *a, const void *b) { int x = *(const int *)a, y = *(const int *)b; if (x == 13 || y == 13) throw std::invalid_argument("thirteen"); return x - y; }

int main() {
    printf("main\n"); std::atexit([] { printf("atexit\n"); }); in_function(); in_function();
    { Tracked t(1); auto shared = std::make_shared<Tracked>(2); std::thread a([t, shared] { (void)t; }); a.join(); printf("%d %ld\n", alive.load(), shared.use_count()); std::thread b([](std::unique_ptr<Tracked>, Tracked) {}, std::make_unique<Tracked>(3), t); b.join(); printf("%d\n", alive.load()); auto f = std::async(std::launch::async, [t, shared] { return shared->id + t.id; }); printf("%d\n", f.get()); } printf("%d\n", alive.load());
    std::thread([] { printf("in thread %s\n", thread_logged.name); }).join(); printf("%s\n", thread_logged.name); std::thread([] {}).join();
    std::promise<int> promise; std::shared_future<int> future = promise.get_future().share(); std::atomic<int> caught{0}; std::mutex mutex; std::condition_variable both; int inside = 0; auto rethrow = [&] { try { future.get(); } catch (std::runtime_error &e) { std::unique_lock lock(mutex); inside++; both.notify_all(); both.wait(lock, [&] { return inside == 2; }); caught += std::string(e.what()) == "shared"; try { throw 5; } catch (int x) { caught += x; } } }; std::thread one(rethrow), two(rethrow); promise.set_exception(std::make_exception_ptr(std::runtime_error("shared"))); one.join(); two.join(); printf("%d %d\n", caught.load(), std::uncaught_exceptions());
    int thrown = 0; for (int i = 0; i < 300; i++) { try { std::vector<int>(3).at((size_t)i); } catch (std::out_of_range &) { thrown++; } try { (void)std::stoi("x"); } catch (std::exception &) { thrown++; } } printf("%d\n", thrown); std::vector<std::exception_ptr> kept; for (int i = 0; i < 100; i++) try { if (i % 2) throw Tracked(i); std::string().at(1); } catch (...) { kept.push_back(std::current_exception()); } printf("%d ", alive.load()); int sum = 0; for (auto &e : kept) try { std::rethrow_exception(e); } catch (Tracked &t) { sum += t.id; } catch (std::out_of_range &) { sum += 1000; } kept.clear(); printf("%d %d\n", sum, alive.load());
    Throwing buffer; std::ostream out(&buffer); out << "fine" << '!' << "not written"; printf("%s %d %d\n", buffer.kept.c_str(), out.bad(), out.good()); out.clear(); out.exceptions(std::ios::badbit); try { out << "more" << '!'; } catch (std::runtime_error &e) { printf("%s %s\n", e.what(), buffer.kept.c_str()); } int numbers[] = { 5, 13, 2 }; try { qsort(numbers, 3, sizeof *numbers, compare); } catch (std::invalid_argument &e) { printf("%s\n", e.what()); } try { int key = 13; bsearch(&key, numbers, 3, sizeof key, compare); } catch (std::invalid_argument &e) { printf("%s\n", e.what()); }
    Counting counting; { std::pmr::vector<std::pmr::string> v(&counting); for (int i = 0; i < 10; i++) v.emplace_back("a string that is too long to be kept inside"); std::pmr::map<int, int> m(&counting); m[1] = 2; std::pmr::monotonic_buffer_resource pool(1024, &counting); std::pmr::vector<int> w(&pool); for (int i = 0; i < 100; i++) w.push_back(i); printf("%zu %d\n", v[3].size(), w[99]); } printf("%d %d\n", counting.given > 500, counting.given == counting.back); std::pmr::unsynchronized_pool_resource up; std::pmr::vector<double> pv(100, 1.5, &up); printf("%g\n", pv[50]);
    std::ostringstream grouped; grouped.imbue(std::locale(std::locale(), new Comma)); grouped << 1234567 << ' ' << 2.5; printf("%s\n", grouped.str().c_str()); std::function<void(int)> recurse = [&](int n) { Tracked t(n); if (n == 0) throw t; recurse(n - 1); }; try { recurse(50); } catch (Tracked &t) { printf("%d %d\n", t.id, alive.load()); } printf("%d\n", alive.load()); try { std::thread t([] {}); t.join(); t.join(); } catch (std::system_error &e) { printf("%s\n", e.code() == std::errc::invalid_argument ? "invalid" : "?"); } std::thread self; try { self.detach(); } catch (std::system_error &) { printf("not joinable\n"); } struct Nested { ~Nested() { try { throw std::logic_error("inner"); } catch (std::logic_error &e) { printf("%s %d\n", e.what(), std::uncaught_exceptions()); } } }; try { Nested n; throw 1; } catch (int) { printf("outer\n"); } std::set_new_handler([] { printf("new handler\n"); std::set_new_handler(nullptr); }); try { volatile size_t n = (size_t)1 << 62; char *volatile p = static_cast<char *>(::operator new(n)); (void)p; } catch (std::bad_alloc &) { printf("bad_alloc\n"); } char *volatile none = new (std::nothrow) char[alive.load() + ((size_t)1 << 61)]; printf("%d\n", none == nullptr);
    std::vector<std::thread> many; std::atomic<int> turns{0}; for (int i = 0; i < 20; i++) many.emplace_back([&turns, i, t = Tracked(i)] { turns += t.id * (i + 1); }); for (auto &t : many) t.join(); many.clear(); printf("%d %d\n", turns.load(), alive.load()); std::exception_ptr across; std::thread([&] { try { throw Tracked(7); } catch (...) { across = std::current_exception(); } }).join(); try { std::rethrow_exception(across); } catch (Tracked &t) { printf("%d %d\n", t.id, alive.load()); } across = nullptr; printf("%d\n", alive.load()); return 0;
}
