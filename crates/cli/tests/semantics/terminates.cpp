// A handler for std::terminate decides how the process ends; it can ask for the exception.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <thread>

static void handle() {
    try {
        std::rethrow_exception(std::current_exception());
    } catch (const std::exception &e) {
        std::printf("%s\n", e.what());
    }
    std::fflush(stdout);
    std::_Exit(3);
}

static void no_memory() { std::set_new_handler(nullptr); std::printf("no memory\n"); }

int main() {
    std::printf("%d\n", std::get_new_handler() == nullptr);
    std::set_new_handler(no_memory);
    try {
        volatile std::size_t size = static_cast<std::size_t>(1) << 60;
        ::operator delete(::operator new(size));
    } catch (const std::bad_alloc &) {
        std::printf("bad_alloc\n");
    }
    std::terminate_handler old = std::set_terminate(handle);
    std::printf("%d %d\n", old != handle, std::get_terminate() == handle);
    std::thread t([] { throw std::runtime_error("nobody catches this"); });
    t.join();
}
