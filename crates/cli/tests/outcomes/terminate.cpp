// kind: uncaught-exception
#include <vector>
static int pick(const std::vector<int> &all) noexcept {
    return all.at(5); // HERE
}
int main() {
    return pick({1, 2, 3});
}
