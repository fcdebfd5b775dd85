// kind: out-of-bounds
// says: 40 bytes, allocated here
#include <stdlib.h>
int main(void) {
    int *numbers = malloc(10 * sizeof *numbers);
    for (int i = 0; i <= 10; i++) {
        numbers[i] = i; // HERE
    }
    free(numbers);
    return 0;
}
