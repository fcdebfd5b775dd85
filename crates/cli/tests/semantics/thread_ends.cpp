// What waits for the end of a thread, and operators of the program that the library's own go through.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <new>
#include <thread>

static int news, deletes;
void *operator new(std::size_t size) {
    __atomic_add_fetch(&news, 1, __ATOMIC_SEQ_CST);
    return std::malloc(size);
}
void operator delete(void *block) noexcept {
    __atomic_add_fetch(&deletes, block != nullptr, __ATOMIC_SEQ_CST);
    std::free(block);
}

struct Last {
    const char *text;
    ~Last() { std::printf("%s\n", text); }
};

struct Wide {
    long words[5];
    virtual ~Wide() { words[0] = 0; }
};

static std::mutex mutex;
static std::condition_variable changed;
static bool ready;

int main() {
    {
        std::promise<int> promise;
        std::future<int> future = promise.get_future();
        std::thread t([&] {
            thread_local Last last{"before the value is there"};
            (void)&last;
            promise.set_value_at_thread_exit(5);
        });
        std::printf("%d\n", future.get());
        t.join();
    }
    {
        std::promise<int &> promise;
        std::future<int &> future = promise.get_future();
        int there = 6;
        std::thread([&] { promise.set_value_at_thread_exit(there); }).join();
        std::printf("%d\n", future.get());
    }
    {
        std::promise<void> promise;
        std::future<void> future = promise.get_future();
        std::thread([&] {
            promise.set_exception_at_thread_exit(std::make_exception_ptr(7));
        }).join();
        try {
            future.get();
        } catch (int value) {
            std::printf("threw %d\n", value);
        }
    }
    {
        std::packaged_task<int(int)> task([](int n) { return n + 1; });
        std::future<int> future = task.get_future();
        std::thread t([&] { task.make_ready_at_thread_exit(7); });
        std::printf("%d\n", future.get());
        t.join();
    }
    {
        std::thread t([] {
            std::unique_lock<std::mutex> hold(mutex);
            std::notify_all_at_thread_exit(changed, std::move(hold));
            ready = true;
        });
        std::unique_lock<std::mutex> hold(mutex);
        changed.wait(hold, [] { return ready; });
        std::printf("notified\n");
        hold.unlock();
        t.join();
    }
    // Through volatile pointers: a compiler may leave out what is deleted at once.
    int before = deletes - news;
    Wide *volatile one = new Wide;
    delete one;
    Wide *volatile three = new Wide[3];
    delete[] three;
    char *volatile chars = new (std::nothrow) char[10];
    delete[] chars;
    int *volatile number = new (std::nothrow) int(3);
    delete number;
    std::printf("%d\n", deletes - news - before);
    int made = news;
    int *volatile numbers = new int[7];
    delete[] numbers;
    std::printf("%d\n", news - made);
}
