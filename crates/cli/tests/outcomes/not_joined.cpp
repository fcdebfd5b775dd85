// kind: abort
// says: terminate
#include <thread>
int main() {
    std::thread thread([] {});
} // HERE
