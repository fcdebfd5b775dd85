// kind: invalid-free
#include <stdlib.h>
int main(void) {
    char *block = malloc(10);
    free(block + 4); // HERE
    return 0;
}
