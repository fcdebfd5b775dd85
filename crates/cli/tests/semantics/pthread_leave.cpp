// Threads that leave before their function returns, in C++: destructors, cleanup handlers and catch (...) run, innermost first.
#include <atomic>
#include <condition_variable>
#include <cxxabi.h>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <stdio.h>
#include <thread>
#include <unistd.h>

static std::mutex guarded;
static std::mutex waits_for;
static std::condition_variable never;
static sem_t started, blocked;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int calls;

struct Says {
    const char *text;
    ~Says() { printf("~%s\n", text); }
};

static void say(void *text) { printf("cleanup %s\n", static_cast<char *>(text)); }
static void destroy(void *value) { printf("destroy %ld\n", reinterpret_cast<long>(value)); }

static void leave(long code) {
    Says inner{"inner"};
    pthread_exit(reinterpret_cast<void *>(code));
}

static void *exits(void *arg) {
    std::lock_guard<std::mutex> hold(guarded);
    Says outer{"outer"};
    pthread_setspecific(key, arg);
    leave(reinterpret_cast<long>(arg));
    return nullptr;
}

static void *cleans_up(void *arg) {
    Says outer{"outer"};
    pthread_cleanup_push(say, const_cast<char *>("first"));
    Says between{"between"};
    pthread_cleanup_push(say, const_cast<char *>("second"));
    pthread_exit(arg);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return nullptr;
}

static void *catches(void *arg) {
    try {
        Says inside{"inside"};
        pthread_exit(arg);
    } catch (const std::exception &) {
        printf("not this one\n");
    } catch (...) {
        printf("caught\n");
        throw;
    }
    return nullptr;
}

static void *names_it(void *arg) {
    try {
        pthread_exit(arg);
    } catch (abi::__forced_unwind &) {
        printf("forced\n");
        throw;
    } catch (...) {
        printf("not this one\n");
        throw;
    }
    return nullptr;
}

struct Throws {
    ~Throws() {
        try {
            throw std::runtime_error("within a destructor");
        } catch (const std::exception &e) {
            printf("%s\n", e.what());
        }
    }
};

static void *throws_on_the_way(void *arg) {
    Says outer{"outer"};
    Throws inner;
    pthread_exit(arg);
    return nullptr;
}

static void *waits_on_cond(void *) {
    Says outer{"outer"};
    std::unique_lock<std::mutex> hold(waits_for);
    Says inner{"holding"};
    sem_post(&started);
    for (;;) {
        pthread_cond_wait(never.native_handle(), waits_for.native_handle());
    }
}

static void *sleeps(void *arg) {
    Says outer{"sleeper"};
    sem_post(&started);
    for (;;) {
        sleep(1000);
    }
    return arg;
}

static std::atomic<int> spins;
static void *asynchronous(void *arg) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    pthread_setspecific(key, arg);
    sem_post(&started);
    for (;;) {
        spins++;
    }
    return nullptr;
}

static void initialise() {
    calls++;
    if (calls == 1) {
        sem_post(&started);
        sem_wait(&blocked);
    }
}
static void *cancelled_once(void *arg) {
    pthread_once(&once, initialise);
    return arg;
}

// Not by try_lock, which may fail without a reason.
static bool is_free(std::mutex &mutex) {
    bool is_free = pthread_mutex_trylock(mutex.native_handle()) == 0;
    pthread_mutex_unlock(mutex.native_handle());
    return is_free;
}

static void show(const char *what, void *result) {
    printf("%s: %ld, %s\n", what, reinterpret_cast<long>(result), is_free(guarded) ? "free" : "held");
}

int main() {
    pthread_t t;
    void *r;
    sem_init(&started, 0, 0);
    sem_init(&blocked, 0, 0);
    pthread_key_create(&key, destroy);
    auto run = [&](const char *what, void *(*start)(void *), long arg) {
        pthread_create(&t, nullptr, start, reinterpret_cast<void *>(arg));
        pthread_join(t, &r);
        show(what, r);
    };
    run("exits", exits, 5);
    run("cleans up", cleans_up, 6);
    run("catches", catches, 7);
    run("names it", names_it, 8);
    run("throws on the way", throws_on_the_way, 9);
    auto cancel = [&](const char *what, void *(*start)(void *), long arg) {
        pthread_create(&t, nullptr, start, reinterpret_cast<void *>(arg));
        sem_wait(&started);
        pthread_cancel(t);
        pthread_join(t, &r);
        printf("%s: %d\n", what, r == PTHREAD_CANCELED);
    };
    cancel("waits", waits_on_cond, 0);
    printf("%d\n", is_free(waits_for));
    cancel("sleeps", sleeps, 0);
    cancel("asynchronous", asynchronous, 3);
    cancel("once", cancelled_once, 0);
    pthread_once(&once, initialise);
    printf("called %d times\n", calls);
    int old;
    printf("%d %d\n", pthread_setcancelstate(77, &old) != 0, pthread_setcanceltype(77, &old) != 0);
    std::thread ends([] {
        Says outer{"thread"};
        pthread_exit(nullptr);
    });
    ends.join();
}
