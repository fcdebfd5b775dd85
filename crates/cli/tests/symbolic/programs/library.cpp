// C++: the standard library's threads and containers, virtual calls, exceptions, streams.
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Base {
    virtual int apply(int) = 0;
    virtual ~Base() {}
};
struct Next : Base {
    int apply(int x) override { return x + 1; }
};
struct Twice : Base {
    int apply(int x) override { return x * 2; }
};

static std::mutex mutex;
static std::condition_variable changed;
static bool go;
static std::string text = "ab";
static std::vector<int> values;
static std::map<std::string, int> counts;
static std::atomic<int> ready;
static std::shared_ptr<int> pointer = std::make_shared<int>(4);
static Base *object = new Next;
static int racy;

static void exceptions()
{
    try {
        if (racy % 3 == 1)
            throw std::runtime_error("x" + std::to_string(racy));
        racy++;
    } catch (std::exception &error) {
        racy += error.what()[1] - '0';
    }
    try {
        if (racy & 1)
            throw racy;
    } catch (int number) {
        racy = number + 3;
    }
}

static void work(int id)
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        text += char('a' + racy % 3);
        values.push_back(racy);
        counts[text.substr(0, 2)]++;
    }
    racy = object->apply(racy) + id;
    if (racy > 3)
        object = id ? static_cast<Base *>(new Twice) : new Next;
    exceptions();
    std::ostringstream stream;
    stream << racy << " " << text.size();
    racy += stream.str().size();
    std::cout << racy << " " << text << std::endl;
    std::unique_lock<std::mutex> lock(mutex);
    go = true;
    changed.notify_all();
    changed.wait(lock, [] { return go; });
    auto copy = pointer;
    *copy += 1;
    ready += *copy;
}

int main()
{
    auto result = std::async(std::launch::async, [] { return racy + 1; });
    std::thread a(work, 0), b(work, 1);
    a.join();
    b.join();
    racy += result.get();
    int total = 0;
    for (int value : values)
        total += value;
    std::cout << total << racy << ready << "\n";
    assert(racy % 5 != 2);
    return total > 3;
}
