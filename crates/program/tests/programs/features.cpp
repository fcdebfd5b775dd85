// Every feature of C++ that lowering knows. `main` returns 0 if all of it computes what it should.
#include <algorithm>
#include <any>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <shared_mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

static int failures;
#define CHECK(condition) ((condition) ? (void)0 : (void)(failures++, std::cout << __LINE__ << ": " #condition "\n"))

namespace shapes {
struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual std::string name() const { return "shape"; }
};
struct Colored {
    int color = 7;
    virtual int tint() const { return color; }
    virtual ~Colored() = default;
};
struct Square final : Shape, virtual Colored {
    double side;
    explicit Square(double side) : side(side) {}
    double area() const override { return side * side; }
    std::string name() const override { return "square"; }
    int tint() const override { return color + 1; }
};
struct Circle : Shape {
    double area() const override { return 3; }
};
}  // namespace shapes

static void classes() {
    using namespace shapes;
    std::vector<std::unique_ptr<Shape>> all;
    all.push_back(std::make_unique<Square>(3));
    all.push_back(std::make_unique<Circle>());
    double total = 0;
    for (auto &shape : all) total += shape->area();
    CHECK(total == 12 && all[0]->name() == "square" && all[1]->name() == "shape");
    auto *colored = dynamic_cast<Colored *>(all[0].get());
    CHECK(colored && colored->tint() == 8 && dynamic_cast<Colored *>(all[1].get()) == nullptr);
    CHECK(typeid(*all[0]) == typeid(Square));
    double (Shape::*method)() const = &Shape::area;
    int Colored::*field = &Colored::color;
    CHECK((all[1].get()->*method)() == 3 && colored->*field == 7);
}

struct Error : std::runtime_error {
    int code;
    Error(int code) : std::runtime_error("error"), code(code) {}
};
struct Guard {
    int &count;
    ~Guard() { count++; }
};

static int thrower(int n, int &unwound) {
    Guard guard{unwound};
    if (n == 1) throw 42;
    if (n == 2) throw Error(5);
    if (n == 3) throw std::string("text");
    if (n == 4) return std::vector<int>(1).at(3);
    return n;
}

static int catcher(int n, int &unwound) {
    try {
        return thrower(n, unwound);
    } catch (int value) {
        return value;
    } catch (const std::out_of_range &) {
        return 77;
    } catch (const std::exception &error) {
        return static_cast<const Error &>(error).code;
    } catch (...) {
        try {
            throw;
        } catch (std::string &text) {
            return static_cast<int>(text.size());
        }
    }
}

static int nested(int depth) noexcept(false) {
    try {
        if (depth == 0) throw depth;
        return nested(depth - 1) + 1;
    } catch (int) {
        if (depth < 2) throw;
        return 100;
    }
}

static void exceptions() {
    int unwound = 0;
    CHECK(catcher(0, unwound) == 0 && catcher(1, unwound) == 42 && catcher(2, unwound) == 5);
    CHECK(catcher(3, unwound) == 4 && catcher(4, unwound) == 77 && unwound == 5);
    CHECK(nested(3) == 101);
    std::exception_ptr kept;
    try {
        throw Error(9);
    } catch (...) {
        kept = std::current_exception();
    }
    int code = 0;
    try {
        std::rethrow_exception(kept);
    } catch (Error &error) {
        code = error.code;
    }
    CHECK(code == 9);
}

static void containers() {
    std::map<std::string, int> ages{{"ann", 30}, {"bob", 40}};
    ages["cid"] = 50;
    std::unordered_map<int, std::string> names;
    for (int i = 0; i < 20; i++) names[i] = std::to_string(i);
    CHECK(ages.size() == 3 && ages.at("bob") == 40 && names[17] == "17");
    std::vector<int> numbers{5, 3, 9, 1};
    std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a > b; });
    CHECK(numbers.front() == 9 && numbers.back() == 1);
    std::function<int(int)> twice = [&](int n) { return n * 2 + static_cast<int>(numbers.size()); };
    CHECK(twice(4) == 12);
    std::variant<int, std::string> either = "text";
    CHECK(std::visit([](auto &v) { return sizeof v; }, either) == sizeof(std::string));
    std::optional<double> maybe = 2.5;
    CHECK(maybe.value_or(0) == 2.5 && std::any_cast<int>(std::any(3)) == 3);
    std::ostringstream stream;
    stream << 1 << ' ' << 2.5 << ' ' << std::hex << 255;
    CHECK(stream.str() == "1 2.5 ff");
    auto shared = std::make_shared<int>(4);
    std::weak_ptr<int> weak = shared;
    shared.reset();
    CHECK(weak.expired());
}

template <typename T> class Queue {
    std::queue<T> items;
    std::mutex mutex;
    std::condition_variable ready;

public:
    void push(T item) {
        std::lock_guard<std::mutex> hold(mutex);
        items.push(std::move(item));
        ready.notify_one();
    }
    T pop() {
        std::unique_lock<std::mutex> hold(mutex);
        ready.wait(hold, [this] { return !items.empty(); });
        T item = std::move(items.front());
        items.pop();
        return item;
    }
};

static std::atomic<int> total{0};
static thread_local int own = 1;
static thread_local std::vector<int> history;

static int once_value() {
    static int value = [] { return 11; }();
    return value;
}

static void threads() {
    Queue<int> queue;
    std::vector<std::thread> pool;
    for (int i = 0; i < 3; i++)
        pool.emplace_back([&queue] {
            own += queue.pop();
            history.push_back(own);
            total += own;
            total.fetch_add(once_value(), std::memory_order_relaxed);
        });
    for (int i = 0; i < 3; i++) queue.push(i);
    for (auto &thread : pool) thread.join();
    CHECK(total == 39 && own == 1 && history.empty());
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread setter([&] { promise.set_value(8); });
    CHECK(future.get() == 8);
    setter.join();
    std::once_flag flag;
    int calls = 0;
    for (int i = 0; i < 3; i++) std::call_once(flag, [&] { calls++; });
    CHECK(calls == 1);
    std::shared_mutex both;
    { std::shared_lock<std::shared_mutex> reading(both); }
    { std::unique_lock<std::shared_mutex> writing(both); }
    std::scoped_lock together(both);
}

struct Static {
    std::string text;
    Static() : text("constructed") {}
    ~Static() { text.clear(); }
} object;

int main() {
    CHECK(object.text == "constructed");
    classes();
    exceptions();
    containers();
    threads();
    std::cout << "failures: " << failures << std::endl;
    return failures;
}
