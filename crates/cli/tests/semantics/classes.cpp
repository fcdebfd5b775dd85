// Inheritance, virtual calls, RTTI, static locals, construction order, templates, lambdas, operators.
#include <array>
#include <compare>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>
#include <new>
#include <coroutine>

struct Shape { virtual double area() const = 0; virtual std::string name() const { return "shape"; } virtual ~Shape() { printf("~%s ", "Shape"); } };
struct Square : Shape { double s; Square(double s) : s(s) {} double area() const override { return s * s; } std::string name() const override { return "square"; } ~Square() override { printf("~Square "); } };
struct Circle final : Shape { double r; Circle(double r) : r(r) {} double area() const override { return 3 * r * r; } };
struct A { int a = 1; virtual int f() { return a; } virtual ~A() {} };
struct B { int b = 2; virtual int f() { return b; } virtual int g() { return 20; } virtual ~B() {} };
struct C : A, B { int c = 3; int f() override { return a + b + c; } int g() override { return c * 10; } };
struct V { int v; V(int v = 9) : v(v) { printf("V%d ", v); } virtual int id() { return v; } };
struct L : virtual V { L() : V(1) { printf("L "); } int id() override { return v * 10; } };
struct R : virtual V { R() : V(2) { printf("R "); } int r = 7; };
struct D : L, R { int d = 4; D() : V(3) { printf("D "); } int id() override { return L::id() + r + d; } };
struct CallsVirtual { CallsVirtual() { printf("%d ", which()); } virtual int which() { return 1; } virtual ~CallsVirtual() { printf("%d\n", which()); } };
struct Overrides : CallsVirtual { Overrides() { printf("%d ", which()); } int which() override { return 2; } ~Overrides() { printf("%d ", which()); } };
struct Covariant { virtual Covariant *clone() { return new Covariant(*this); } virtual int n() { return 1; } virtual ~Covariant() = default; };
struct Padding { long x = 5; virtual ~Padding() = default; };
struct Cloned : Padding, Covariant { Cloned *clone() override { return new Cloned(*this); } int n() override { return (int)x; } };

struct Noisy { const char *n; Noisy(const char *n) : n(n) { printf("(%s ", n); } ~Noisy() { printf("%s) ", n); } };
static Noisy global_one("g1"), global_two("g2");
static Noisy &local_static(const char *n) { static Noisy once(n); return once; }
static int initialised() { static int calls = 0; static int value = ++calls * 100; return value + calls; }
inline int inline_variable = 17;
struct Statics { static inline int count = 3; static constexpr int fixed = 4; static int late; };
int Statics::late = Statics::count * 2 + inline_variable;

struct Number { int v; Number operator+(Number o) const { return {v + o.v}; } Number &operator+=(int x) { v += x; return *this; } Number operator++(int) { return {v++}; } Number &operator++() { ++v; return *this; } int operator[](int i) const { return v >> i & 1; } int operator()(int x) const { return v * x; } explicit operator bool() const { return v != 0; } operator std::string() const { return "#" + std::to_string(v); } auto operator<=>(const Number &) const = default; Number operator-() const { return {-v}; } };
static Number operator""_n(unsigned long long v) { return {(int)v}; }
struct Moves { std::unique_ptr<int> p; int moved = 0; Moves(int v) : p(new int(v)) {} Moves(Moves &&o) noexcept : p(std::move(o.p)), moved(o.moved + 1) {} Moves &operator=(Moves &&o) noexcept { p = std::move(o.p); moved = o.moved + 10; return *this; } };

template <class T> T biggest(T a) { return a; }
template <class T, class... Rest> T biggest(T a, Rest... rest) { T b = biggest<T>(rest...); return a < b ? b : a; }
template <int N> struct Factorial { static constexpr long value = N * Factorial<N - 1>::value; };
template <> struct Factorial<0> { static constexpr long value = 1; };
template <class T, size_t N> struct Stack { std::array<T, N> items; size_t n = 0; void push(T t) { items[n++] = t; } T pop() { return items[--n]; } };
template <class T> concept Small = sizeof(T) <= 2;
template <class T> const char *sized(T) { return "big"; }
template <Small T> const char *sized(T) { return "small"; }
template <class... T> auto sum(T... t) { return (t + ...); }
template <class F, class... A> decltype(auto) apply_twice(F f, A... a) { return f(f(a...)); }
constexpr int collatz(int n) { int s = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; s++; } return s; }
static_assert(collatz(27) == 111);

struct Generator { struct promise_type { int current = 0; Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; } std::suspend_always initial_suspend() { return {}; } std::suspend_always final_suspend() noexcept { return {}; } std::suspend_always yield_value(int v) { current = v; return {}; } void return_void() {} void unhandled_exception() {} }; std::coroutine_handle<promise_type> h; bool next() { h.resume(); return !h.done(); } ~Generator() { h.destroy(); } Generator(std::coroutine_handle<promise_type> h) : h(h) {} Generator(const Generator &) = delete; };
static Generator squares(int n) { Noisy guard("coroutine"); for (int i = 1; i <= n; i++) co_yield i * i; }

union Variant { int i; float f; Variant() : i(0) {} };
struct alignas(64) Aligned { char c; };
static int by_value(Aligned a, std::string s, Moves m) { return a.c + (int)s.size() + *m.p; }
static std::tuple<int, double, std::string> triple() { return {1, 2.5, "three"}; }
static auto big_result() { struct Big { long v[20]; } b{}; b.v[19] = 5; return b; }

int main() {
    printf("\n"); std::vector<std::unique_ptr<Shape>> shapes; shapes.emplace_back(new Square(3)); shapes.emplace_back(new Circle(2)); for (auto &s : shapes) printf("%s %g ", s->name().c_str(), s->area()); shapes.clear(); printf("\n");
    C c; A *a = &c; B *b = &c; printf("%d %d %d %d %d %d\n", a->f(), b->f(), b->g(), a->A::f(), dynamic_cast<C *>(b) == &c, (char *)b != (char *)a);
    printf("%d %d %d\n", dynamic_cast<B *>(a) == b, dynamic_cast<A *>(b) == a, dynamic_cast<Shape *>(a) == nullptr); D d; V *v = &d; printf("%d %d %d %d\n", v->id(), d.v, static_cast<L &>(d).id(), dynamic_cast<R *>(v)->r); { Overrides o; }
    std::unique_ptr<Covariant> original(new Cloned), copy(original->clone()); printf("%d %d\n", copy->n(), dynamic_cast<Padding *>(copy.get()) != nullptr);
    printf("%d %d %d %s\n", typeid(*a) == typeid(C), typeid(*a) == typeid(A), typeid(int) != typeid(long), typeid(c).name()); printf("%d %d\n", std::type_index(typeid(*b)) == std::type_index(typeid(C)), typeid(D).before(typeid(D)));
    int (A::*method)() = &A::f; int C::*member = &C::c; int (B::*second)() = &B::g; printf("%d %d %d %d\n", (a->*method)(), c.*member, (c.*second)(), method != nullptr); auto bound = std::mem_fn(&B::g); printf("%d\n", bound(c));
    local_static("first"); local_static("second"); printf("%d %d %d %d\n", initialised(), initialised(), Statics::late, Statics::fixed + ++Statics::count);
    Number n{5}; n += 3; n++; ++n; printf("%d %d %d %d %s %d %d %d\n", (n + 2_n).v, n[1], n(3), (bool)n, std::string(n).c_str(), n > 3_n, n == 10_n, (-n).v);
    Moves m1(5), m2(std::move(m1)); m1 = std::move(m2); printf("%d %d %d\n", *m1.p, m1.moved, m2.p == nullptr); std::vector<Moves> moves; for (int i = 0; i < 5; i++) moves.emplace_back(i); int moved = 0; for (auto &m : moves) moved += m.moved * 10 + *m.p; printf("%d\n", moved);
    printf("%d %g %s %ld\n", biggest(3, 9, 4), biggest(1.5, -2.0), biggest(std::string("a"), std::string("b")).c_str(), Factorial<12>::value); Stack<short, 8> stack; stack.push(4); stack.push(5); printf("%d %s %s %g\n", stack.pop() + stack.pop(), sized('c'), sized(1.0), sum(1, 2.5, 3));
    int counter = 0; auto count = [&counter, step = 3]() mutable { counter += step++; return counter; }; count(); count(); printf("%d %d\n", counter, apply_twice([](int x) { return x * x; }, 3)); std::function<int(int)> fib = [&](int k) { return k < 2 ? k : fib(k - 1) + fib(k - 2); }; printf("%d\n", fib(15)); int (*plain)(int) = +[](int x) { return x + 1; }; printf("%d\n", plain(4));
    auto generic = [](auto x, auto y) { return x + y; }; printf("%d %s\n", generic(1, 2), generic(std::string("a"), "b").c_str()); auto nested = [&](int x) { return [=, &counter](int y) { return x * y + counter; }; }; printf("%d\n", nested(3)(4)); auto binder = std::bind(generic, std::placeholders::_1, 10); printf("%d\n", binder(5));
    auto [x, y, z] = triple(); printf("%d %g %s %d\n", x, y, z.c_str(), (int)big_result().v[19]); { Generator g = squares(4); while (g.next()) printf("%d ", g.h.promise().current); } { Generator g = squares(9); g.next(); g.next(); printf("%d ", g.h.promise().current); } printf("\n");
    printf("%d %d %zu\n", by_value(Aligned{3}, "four", Moves(7)), (int)((uintptr_t)&*std::make_unique<Aligned>() % 64), sizeof(Aligned)); Variant u; u.f = 1.0f; printf("%x\n", u.i); alignas(C) char storage[sizeof(C)]; C *placed = new (storage) C; placed->c = 8; printf("%d\n", placed->f()); placed->~C();
    int array[] = {1, 2, 3}; for (int &e : array) e *= 2; auto init = [](std::initializer_list<int> l) { int s = 0; for (int e : l) s = s * 10 + e; return s; }; printf("%d %d %d\n", array[2], init({1, 2, 3}), collatz(array[0] + 25)); if (int q = counter; q > 3) printf("%d\n", q); switch (auto s = sized(1); s[0]) { case 'b': printf("b\n"); break; default: printf("?\n"); }
    const volatile int cv = 3; printf("%d %d %d\n", cv + const_cast<const int &>(array[1]), std::is_same_v<decltype(cv), const volatile int>, noexcept(plain(1))); printf("%s\n", __PRETTY_FUNCTION__); struct Local { static int twice(int x) { return 2 * x; } }; printf("%d\n", Local::twice(21)); char *text = new char[8]; strcpy(text, "delete"); printf("%s\n", text); delete[] text; delete (new Square(1)); printf("\n");
    return counter;
}
