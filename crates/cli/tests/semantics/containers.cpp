// Containers and the algorithms on them.
#include <algorithm>
#include <any>
#include <array>
#include <bitset>
#include <cstdio>
#include <deque>
#include <forward_list>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <ranges>
#include <set>
#include <span>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <valarray>
#include <variant>
#include <vector>
#include <charconv>

template <class T> static void show(const char *name, const T &all) { printf("%s:", name); for (const auto &x : all) printf(" %d", (int)x); printf("\n"); }
struct Point { int x, y; bool operator<(const Point &o) const { return std::tie(x, y) < std::tie(o.x, o.y); } bool operator==(const Point &) const = default; };
template <> struct std::hash<Point> { size_t operator()(const Point &p) const { return (size_t)p.x * 31 + (size_t)p.y; } };
struct Node { std::shared_ptr<Node> next; std::weak_ptr<Node> back; int v; static int alive; Node(int v) : v(v) { alive++; } ~Node() { alive--; } };
int Node::alive;
struct Self : std::enable_shared_from_this<Self> { std::shared_ptr<Self> me() { return shared_from_this(); } };

int main() {
    std::vector<int> v{5, 3, 9, 1}; v.push_back(7); v.insert(v.begin() + 2, {20, 21}); v.erase(v.begin()); v.emplace(v.end(), 4); show("vector", v); v.resize(10, -1); v.shrink_to_fit(); show("resized", v); printf("%zu %d %d\n", v.size(), v.front(), v.back()); std::vector<bool> flags(10); flags[3] = flags[7] = true; flags.flip(); show("bools", flags); std::vector<std::vector<int>> grid(3, std::vector<int>(4, 2)); grid[1][2] = 9; int total = 0; for (auto &row : grid) total += std::accumulate(row.begin(), row.end(), 0); printf("%d\n", total);
    std::sort(v.begin(), v.end()); show("sorted", v); v.erase(std::unique(v.begin(), v.end()), v.end()); std::reverse(v.begin(), v.end()); show("unique", v); std::rotate(v.begin(), v.begin() + 2, v.end()); show("rotated", v); std::partial_sort(v.begin(), v.begin() + 3, v.end()); show("partial", std::vector<int>(v.begin(), v.begin() + 3)); std::stable_sort(v.begin(), v.end(), [](int a, int b) { return a % 3 < b % 3; }); show("stable", v); std::nth_element(v.begin(), v.begin() + 4, v.end()); printf("%d\n", v[4]);
    printf("%d %d %d %d\n", (int)std::count_if(v.begin(), v.end(), [](int x) { return x > 4; }), *std::max_element(v.begin(), v.end()), *std::min_element(v.begin(), v.end()), (int)(std::find(v.begin(), v.end(), 9) != v.end())); std::transform(v.begin(), v.end(), v.begin(), [](int x) { return x * x; }); show("squares", v); std::make_heap(v.begin(), v.end()); v.push_back(50); std::push_heap(v.begin(), v.end()); std::pop_heap(v.begin(), v.end()); v.pop_back(); std::sort_heap(v.begin(), v.end()); show("heap", v); std::vector<int> out; std::set_difference(v.begin(), v.end(), v.begin() + 2, v.begin() + 4, std::back_inserter(out)); show("difference", out); printf("%d %d\n", std::inner_product(v.begin(), v.begin() + 3, v.begin() + 1, 0), (int)(std::lower_bound(v.begin(), v.end(), 10) - v.begin())); std::vector<int> perm{1, 2, 3}; int perms = 0; do perms = perms * 7 + perm[0] * perm[2]; while (std::next_permutation(perm.begin(), perm.end())); printf("%d\n", perms); std::iota(out.begin(), out.end(), 5); std::partition(out.begin(), out.end(), [](int x) { return x % 2; }); std::sort(out.begin(), out.end()); show("iota", out); std::vector<int> merged; std::merge(out.begin(), out.end(), perm.begin(), perm.end(), std::back_inserter(merged)); show("merged", merged);
    std::map<std::string, int> m; for (auto w : {"the", "cat", "the", "dog", "cat", "the"}) m[w]++; for (auto &[k, n] : m) printf("%s=%d ", k.c_str(), n); m.erase("cat"); printf("%zu %zu %d\n", m.size(), m.count("dog"), m.find("bird") == m.end()); std::map<Point, int> points; for (int i = 0; i < 50; i++) points[{i * 7 % 11, i % 3}] += i; long check = 0; for (auto &[p, n] : points) check = check * 31 + p.x * 5 + p.y + n; printf("%ld %zu\n", check, points.size()); auto it = points.lower_bound({5, 0}); printf("%d %d\n", it->first.x, std::prev(it)->second); std::multimap<int, char> multi{{1, 'a'}, {2, 'b'}, {1, 'c'}}; auto range = multi.equal_range(1); for (auto i = range.first; i != range.second; ++i) printf("%c", i->second); auto node = m.extract("the"); node.key() = "THE"; m.insert(std::move(node)); printf(" %s %d\n", m.begin()->first.c_str(), m.try_emplace("dog", 9).second);
    std::set<int> s{5, 1, 5, 9}; s.insert(3); s.erase(1); show("set", s); printf("%d %d\n", s.contains(9), *s.upper_bound(5)); std::multiset<int, std::greater<>> ms{1, 2, 2, 3}; show("multiset", ms); std::unordered_map<std::string, int> um; for (int i = 0; i < 100; i++) um["k" + std::to_string(i % 17)] += i; int usum = 0; for (auto &[k, n] : um) usum += n * (int)k.size(); printf("%d %zu %d\n", usum, um.size(), um["k3"]); std::unordered_set<Point> us; for (int i = 0; i < 20; i++) us.insert({i % 4, i % 3}); printf("%zu %zu\n", us.size(), us.count({3, 2})); um.rehash(500); um.erase("k5"); printf("%d\n", (int)um.size());
    std::deque<int> d; for (int i = 0; i < 300; i++) { d.push_back(i); d.push_front(-i); } d.pop_front(); d.erase(d.begin() + 100); printf("%d %d %zu %d\n", d[0], d[350], d.size(), std::accumulate(d.begin(), d.end(), 0)); std::list<int> l{4, 2, 8}; l.push_front(1); l.sort(); l.splice(l.begin(), std::list<int>{100, 200}); l.remove(8); l.reverse(); show("list", l); l.merge(std::list<int>{3}); std::forward_list<int> f{3, 1, 2}; f.push_front(0); f.sort(); f.insert_after(f.begin(), 42); show("forward", f); std::stack<int> st; st.push(1); st.push(2); std::queue<int> q; q.push(3); q.push(4); std::priority_queue<int, std::vector<int>, std::greater<int>> pq; for (int x : {5, 2, 8, 1}) pq.push(x); printf("%d %d %d\n", st.top(), q.front(), pq.top()); std::array<int, 4> arr{4, 3, 2, 1}; std::sort(arr.begin(), arr.end()); printf("%d %zu\n", std::get<2>(arr), arr.size()); std::bitset<70> bits(0b1011); bits.set(69); printf("%zu %d %s\n", bits.count(), (int)bits.test(1), (bits >> 60).to_string().substr(55).c_str()); std::valarray<double> va{1, 2, 3}; va = va * va + 1.0; printf("%g %g\n", va.sum(), va.max()); std::span<int> sp(arr); printf("%d\n", sp.subspan(1, 2)[1]);
    std::string str = "hello"; str += " world"; str.insert(5, ","); str.replace(0, 1, "J"); printf("%s %zu %zu %s\n", str.c_str(), str.find("wor"), str.rfind('o'), str.substr(7).c_str()); std::string long_one(1000, 'x'); long_one.append(str).erase(0, 995); printf("%s %d %d\n", long_one.c_str(), str.compare("Jello"), str < "K"); std::string_view view = str; view.remove_prefix(1); printf("%.*s %d\n", 4, view.data(), view.starts_with("ello")); printf("%s %d %g %s\n", std::to_string(3.25).c_str(), std::stoi("-42xyz"), std::stod("1e-2"), std::string(str.rbegin(), str.rend()).c_str()); char buf[32]; auto r = std::to_chars(buf, buf + 32, 1.0 / 3); *r.ptr = 0; int parsed; std::from_chars("123abc", "123abc" + 6, parsed); printf("%s %d\n", buf, parsed); std::wstring ws = L"wide"; ws += L'!'; printf("%ls %zu\n", ws.c_str(), std::hash<std::string>{}("hash") % 1000); std::u16string u16 = u"sixteen"; printf("%zu\n", u16.size());
    std::optional<int> none, some = 5; printf("%d %d %d\n", none.has_value(), *some, none.value_or(9)); std::variant<int, std::string, double> var = "text"; printf("%zu %s ", var.index(), std::get<std::string>(var).c_str()); var = 2.5; printf("%g %d\n", std::visit([](auto &&x) -> double { if constexpr (std::is_arithmetic_v<std::decay_t<decltype(x)>>) return x; else return -1; }, var), std::holds_alternative<int>(var)); std::any any = std::string("any"); printf("%s %d\n", std::any_cast<std::string>(any).c_str(), any.type() == typeid(std::string)); std::tuple<int, char, double> t(1, 'b', 2.5); printf("%d %c %g\n", std::get<0>(t), std::get<char>(t), std::apply([](int a, char, double c) { return a + c; }, t)); std::pair<int, int> p1{1, 2}, p2{1, 3}; printf("%d %d\n", p1 < p2, std::max(p1, p2).second); std::function<int(int)> fn = [k = 3](int x) { return x * k; }; auto copy = fn; fn = nullptr; printf("%d %d\n", copy(7), (bool)fn);
    { auto a = std::make_shared<Node>(1); a->next = std::make_shared<Node>(2); a->next->back = a; printf("%d %ld %ld %d\n", Node::alive, a.use_count(), a->next.use_count(), a->next->back.lock()->v); std::weak_ptr<Node> w = a; a.reset(); printf("%d %d\n", w.expired(), Node::alive); std::unique_ptr<int[]> u(new int[3]{1, 2, 3}); auto u2 = std::move(u); printf("%d %d\n", u2[2], u == nullptr); auto self = std::make_shared<Self>(); printf("%ld\n", self->me().use_count()); std::shared_ptr<void> erased(new Node(3), [](void *n) { printf("deleter "); delete static_cast<Node *>(n); }); erased.reset(); printf("%d\n", Node::alive); std::shared_ptr<int> alias(self, new int(0)); printf("%ld\n", self.use_count()); delete alias.get(); }
    std::mt19937 gen(42); std::uniform_int_distribution<int> die(1, 6); std::normal_distribution<double> normal(0, 1); int rolls = 0; for (int i = 0; i < 10; i++) rolls = rolls * 6 + die(gen); double nsum = 0; for (int i = 0; i < 100; i++) nsum += normal(gen); printf("%u %d %.12g\n", (unsigned)gen(), rolls, nsum); std::vector<int> cards(10); std::iota(cards.begin(), cards.end(), 0); std::shuffle(cards.begin(), cards.end(), gen); show("shuffled", cards); std::mt19937_64 gen64(7); std::minstd_rand lcg(3); printf("%llu %u %.12g\n", (unsigned long long)gen64(), (unsigned)lcg(), std::uniform_real_distribution<>(0, 1)(lcg)); std::discrete_distribution<int> weights{1, 2, 7}; int heavy = 0; for (int i = 0; i < 50; i++) heavy += weights(gen) == 2; printf("%d\n", heavy);
    auto even = std::views::iota(1, 30) | std::views::filter([](int x) { return x % 2 == 0; }) | std::views::transform([](int x) { return x * x; }) | std::views::take(5); for (int x : even) printf("%d ", x); std::ranges::sort(cards, std::greater{}); printf("%d %d\n", cards[0], (int)std::ranges::count(cards, 3)); for (auto part : std::views::split(std::string_view("a,bc,d"), ',')) printf("[%.*s]", (int)part.size(), part.data()); printf("\n"); printf("%d %lld %lld\n", std::gcd(84, 36), std::lcm(21LL, 6LL), std::midpoint(3LL, 9LL)); printf("%d\n", std::reduce(cards.begin(), cards.end()) + std::clamp(15, 0, 10));
    return (int)v.size();
}
