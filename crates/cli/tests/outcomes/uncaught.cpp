// kind: uncaught-exception
// says: std::runtime_error
#include <stdexcept>
#include <thread>
struct Noisy {
    ~Noisy() {}
};
static void work(int n) {
    Noisy noisy;
    if (n == 0) {
        throw std::runtime_error("nobody catches it"); // HERE
    }
    work(n - 1);
}
int main() {
    std::thread thread(work, 3);
    thread.join();
}
