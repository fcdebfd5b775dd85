// Exceptions thrown and caught in every way, within the program and by the native library.
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <typeinfo>
#include <variant>
#include <vector>
#include <any>
#include <algorithm>

static int depth, live;
struct Tracked {
    int id;
    explicit Tracked(int id) : id(id) { live++; printf("+%d ", id); }
    Tracked(const Tracked &other) : id(other.id * 10) { live++; printf("+%d ", id); }
    ~Tracked() { live--; printf("-%d ", id); }
};
struct Base { int b = 1; virtual ~Base() = default; virtual const char *name() const { return "Base"; } };
struct Other { int o = 2; virtual ~Other() = default; };
struct Derived : Base, Other { int d = 3; const char *name() const override { return "Derived"; } };
struct Virtual : virtual Base { const char *name() const override { return "Virtual"; } };
struct Diamond : Virtual, virtual Base, Other { const char *name() const override { return "Diamond"; } };
struct Private : private Base {};
struct Mine : std::runtime_error { int code; Mine(int code) : std::runtime_error("mine " + std::to_string(code)), code(code) {} };
enum class Color { red, green };

static void unwind(int n) { Tracked t(n); if (n == 0) throw Mine(42); unwind(n - 1); printf("never"); }

template <class F> static void attempt(const char *what, F f) {
    printf("%s: ", what);
    try { f(); printf("no exception"); }
    catch (const Mine &e) { printf("Mine %d %s", e.code, e.what()); }
    catch (const std::out_of_range &) { printf("out_of_range"); }
    catch (const std::logic_error &e) { printf("logic_error %s", e.what()); }
    catch (const std::bad_cast &e) { printf("bad_cast"); }
    catch (const std::bad_alloc &) { printf("bad_alloc"); }
    catch (const std::system_error &e) { printf("system_error %d", e.code().value()); }
    catch (const std::exception &e) { printf("exception %s", e.what()); }
    catch (int i) { printf("int %d", i); }
    catch (const char *s) { printf("text %s", s); }
    catch (...) { printf("something"); }
    printf(" (live %d)\n", live);
}

struct ThrowsInConstructor { Tracked a, b; ThrowsInConstructor(int n) : a(1), b(2) { Tracked c(3); if (n) throw n; } };
struct ThrowsInMember { Tracked a; ThrowsInConstructor inner; Tracked last; ThrowsInMember(int n) : a(5), inner(n), last(6) {} };
struct FunctionTry { Tracked t; FunctionTry(int n) try : t(n) { if (n > 5) throw std::string("too big"); } catch (std::string &s) { printf("[%s] ", s.c_str()); throw n; } };
static int function_try(int n) try { if (n) throw n; return 1; } catch (int x) { return x * 2; }
struct Leaver { bool throwing; ~Leaver() noexcept(false) { if (throwing) throw std::runtime_error("from destructor"); } };
struct Counter { ~Counter() { printf("<%d> ", std::uncaught_exceptions()); } };
struct Catcher { ~Catcher() { try { Counter c; throw 5; } catch (int) { printf("{inner} "); } } };
static int noisy_return() { Tracked t(7); try { Tracked u(8); return t.id; } catch (...) { return 0; } }
static int loops() { int n = 0; for (int i = 0; i < 10; i++) { try { Tracked t(i); if (i == 2) continue; if (i == 5) break; if (i % 2) throw i; n += i; } catch (int x) { n += 100 * x; } } return n; }
static void spec() noexcept(false) { throw Color::green; }

int main() {
    attempt("deep", [] { unwind(4); });
    attempt("int", [] { throw 3; }); attempt("text", [] { throw "literal"; }); attempt("double", [] { throw 1.5; }); attempt("nullptr", [] { throw nullptr; });
    attempt("constructor", [] { ThrowsInConstructor t(9); }); attempt("constructor passes", [] { ThrowsInConstructor t(0); }); attempt("member", [] { ThrowsInMember t(8); });
    attempt("function try", [] { FunctionTry t(9); }); attempt("function try passes", [] { FunctionTry t(2); }); printf("%d %d\n", function_try(0), function_try(21));
    attempt("destructor", [] { Leaver l{true}; Tracked t(1); }); attempt("uncaught count", [] { Counter a; Tracked t(2); throw 1; }); attempt("inside cleanup", [] { Catcher c; Counter d; throw 7; });
    attempt("array", [] { struct Third { Tracked t; Third() : t(depth++) { if (depth == 3) throw 33; } }; depth = 0; std::unique_ptr<Third[]> all(new Third[5]); });
    attempt("vector elements", [] { std::vector<Tracked> v; v.reserve(4); v.emplace_back(1); v.emplace_back(2); throw v.size() == 2 ? 1 : 0; });

    try { throw Derived(); } catch (Base &b) { printf("%s %d\n", b.name(), b.b); }
    try { throw Derived(); } catch (Other &o) { printf("%d\n", o.o); }
    try { throw Diamond(); } catch (Base &b) { printf("%s %d\n", b.name(), b.b); }
    try { throw Diamond(); } catch (Other &o) { printf("%d %d\n", o.o, dynamic_cast<Diamond *>(&o) != nullptr); }
    try { Derived d; throw &d; } catch (Base *b) { printf("%d\n", b != nullptr); }
    try { static Derived d; throw static_cast<Base *>(&d); } catch (Derived *) { printf("derived pointer\n"); } catch (const Base *b) { printf("%s\n", b->name()); }
    try { static Derived d; throw &d; } catch (Other *o) { printf("other pointer %d\n", o->o); }
    try { static int x = 5; throw &x; } catch (const void *p) { printf("void pointer %d\n", *(const int *)p); }
    try { throw Private(); } catch (Base &) { printf("base\n"); } catch (Private &) { printf("private\n"); }
    try { throw Derived(); } catch (Base b) { printf("sliced %s\n", b.name()); }
    try { spec(); } catch (Color c) { printf("color %d\n", (int)c); }
    try { throw (short)5; } catch (int) { printf("int\n"); } catch (short) { printf("short\n"); }
    try { throw &Base::b; } catch (int Base::*p) { Base b; printf("member %d\n", b.*p); }
    try { throw &noisy_return; } catch (int (*f)()) { printf("function %d\n", f()); }
    try { try { throw Mine(1); } catch (std::exception &e) { printf("%s, ", e.what()); throw; } } catch (Mine &m) { printf("again %d\n", m.code); }
    try { try { throw 1; } catch (int) { throw 2.5; } } catch (double d) { printf("replaced %g\n", d); }
    try { try { throw Mine(2); } catch (Mine &m) { m.code = 77; throw; } } catch (Mine &m) { printf("changed %d\n", m.code); }
    for (int i = 0; i < 3; i++) try { try { try { throw i; } catch (int x) { if (x == 0) throw; throw std::to_string(x); } } catch (std::string &s) { if (s == "1") throw Mine(1); throw; } } catch (int x) { printf("int %d ", x); } catch (Mine &) { printf("mine "); } catch (...) { printf("other\n"); }
    printf("%d %d %d\n", noisy_return(), loops(), live);

    std::exception_ptr kept; try { throw Mine(5); } catch (...) { kept = std::current_exception(); }
    for (int i = 0; i < 2; i++) try { std::rethrow_exception(kept); } catch (Mine &m) { printf("kept %d ", m.code++); } printf("%d\n", kept != nullptr); kept = nullptr;
    kept = std::make_exception_ptr(std::string("made")); try { std::rethrow_exception(kept); } catch (std::string &s) { printf("%s\n", s.c_str()); }
    try { try { throw Mine(6); } catch (...) { std::throw_with_nested(std::runtime_error("outer")); } } catch (std::exception &e) { printf("%s ", e.what()); try { std::rethrow_if_nested(e); } catch (std::exception &inner) { printf("of %s\n", inner.what()); } }

    attempt("vector::at", [] { std::vector<int> v(3); v.at(7) = 1; }); attempt("string::at", [] { std::string s = "abc"; s.at(9); }); attempt("map::at", [] { std::map<int, int> m; m.at(1); });
    attempt("stoi", [] { std::stoi("abc"); }); attempt("stoi range", [] { std::stoi("99999999999"); }); attempt("substr", [] { std::string("ab").substr(5); }); attempt("bad_cast", [] { Base b; dynamic_cast<Derived &>(b); });
    attempt("bad_typeid", [] { Base *b = nullptr; (void)typeid(*b).name(); }); attempt("bad_function", [] { std::function<int()> f; f(); }); attempt("bad_optional", [] { std::optional<int> o; o.value(); }); attempt("bad_variant", [] { std::variant<int, double> v = 1; std::get<double>(v); });
    attempt("bad_any", [] { std::any a = 5; std::any_cast<double>(a); }); attempt("huge", [] { std::vector<int> v; v.reserve(v.max_size() + 1); }); attempt("new", [] { volatile size_t n = (size_t)1 << 60; char *volatile p = new char[n]; delete[] p; }); attempt("negative", [] { volatile int n = -1; int *volatile p = new int[n]; delete[] p; });
    attempt("length", [] { std::string s; s.resize(s.max_size() + 1); }); attempt("weak", [] { std::weak_ptr<int> w; std::shared_ptr<int> s(w); }); attempt("system", [] { throw std::system_error(std::make_error_code(std::errc::no_such_file_or_directory)); });
    attempt("stream", [] { std::istringstream in("x"); in.exceptions(std::ios::failbit); int i; in >> i; }); attempt("future", [] { std::promise<int> p; p.set_value(1); p.set_value(2); });
    attempt("callback in algorithm", [] { std::vector<int> v{3, 1, 2}; std::sort(v.begin(), v.end(), [](int a, int b) { if (a + b > 4) throw a; return a < b; }); }); attempt("for_each", [] { std::vector<int> v{1, 2, 3}; std::for_each(v.begin(), v.end(), [](int x) { if (x == 2) throw Mine(x); }); });
    std::ostringstream out; try { out << "before " << std::vector<int>{1}.at(3); } catch (std::out_of_range &e) { out << "caught"; } std::cout << out.str() << "\n";
    printf("%d %d %s\n", std::uncaught_exceptions(), live, std::current_exception() ? "one" : "none");
    return live;
}
