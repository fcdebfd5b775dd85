// An exception that nobody catches, in a thread.
#include <stdexcept>
#include <thread>

int main(int argc, char **)
{
    std::thread thread([argc] {
        if (argc > 0)
            throw std::runtime_error("nobody");
    });
    thread.join();
}
