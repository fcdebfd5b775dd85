// kind: division-by-zero
// says: does not fit
#include <limits.h>
int main(void) {
    volatile int smallest = INT_MIN, divisor = -1;
    return smallest / divisor; // HERE
}
