// kind: double-free
// says: freed here by T0
#include <stdlib.h>
int main(void) {
    void *block = malloc(10);
    free(block);
    free(block); // HERE
    return 0;
}
