// kind: double-free
#include <memory>
int main() {
    std::shared_ptr<int> first(new int(1));
    std::shared_ptr<int> second(first.get());
} // HERE
