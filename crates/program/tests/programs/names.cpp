// Accesses in C++ whose names the tests check.
#include <atomic>
#include <mutex>

namespace jobs {
struct Base {
    int priority;
};

class Queue : public Base {
public:
    void push(int item);
    int &front() { return items[0]; }

private:
    std::mutex mutex;
    int items[16];
    int count = 0;
};

void Queue::push(int item) {
    mutex.lock();
    items[count] = item;
    count++;
    priority = 2;
    mutex.unlock();
}

Queue pending;

namespace {
int hidden;
}

template <typename T> struct Box {
    T content;
    void set(T value) { content = value; }
};
}  // namespace jobs

struct Counter {
    static int instances;
    int hits;
};
int Counter::instances = 0;

void bump(Counter &counter, jobs::Box<long> *box) {
    counter.hits++;
    Counter::instances++;
    jobs::hidden = 1;
    box->set(3);
    jobs::pending.push(4);
    auto later = [&counter] { counter.hits = 7; };
    later();
}

int main() {
    Counter counter{};
    jobs::Box<long> box{};
    bump(counter, &box);
    return 0;
}
