// kind: assertion
// says: assertion 'total == 3' failed
#include <assert.h>
int main(void) {
    int total = 2;
    assert(total == 3); // HERE
    return 0;
}
