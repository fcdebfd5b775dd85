// Exceptions through recorded frames: caught near and far, rethrown, with clean-ups on the way, out of callbacks and of virtual calls.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Guard {
    int &count;
    explicit Guard(int &c) : count(c) { count++; }
    ~Guard() { count--; }
};

static int open_guards;

struct Step {
    virtual ~Step() = default;
    virtual int run(int n) = 0;
};

struct Throwing : Step {
    int run(int n) override
    {
        Guard guard(open_guards);
        if (n % 7 == 0)
            throw std::runtime_error("seven");
        if (n % 11 == 0)
            throw n;
        return n;
    }
};

struct Nested : Step {
    std::unique_ptr<Step> inner = std::make_unique<Throwing>();
    int run(int n) override
    {
        Guard guard(open_guards);
        try {
            return inner->run(n) + (n > 50 ? inner->run(n + 1) : 0);
        } catch (int thrown) {
            if (thrown % 2)
                throw;
            return -thrown;
        }
    }
};

__attribute__((noinline)) static int deep(Step &step, int n, int depth)
{
    Guard guard(open_guards);
    if (depth == 0)
        return step.run(n);
    return deep(step, n, depth - 1) + 1;
}

static long work(int rounds)
{
    Nested nested;
    long sum = 0;
    std::map<std::string, int> seen;
    for (int i = 1; i < rounds; i++) {
        try {
            sum += deep(nested, i, i % 9);
        } catch (const std::runtime_error &error) {
            seen[error.what()]++;
        } catch (...) {
            seen["other"]++;
        }
    }
    std::vector<int> order;
    for (int i = 0; i < rounds; i++)
        order.push_back((i * 7919) % 1009);
    try {
        std::sort(order.begin(), order.end(), [](int a, int b) {
            if (a == 1008 && b < 3)
                throw std::string("compare");
            return a < b;
        });
    } catch (const std::string &) {
        sum++;
    }
    for (auto &entry : seen)
        sum += entry.second * static_cast<long>(entry.first.size());
    return sum;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
    long other = 0;
    std::thread thread([&] { other = work(rounds / 2); });
    long own = work(rounds);
    thread.join();
    std::printf("%ld %ld %d\n", own, other, open_guards);
}
