// kind: out-of-bounds
// says: write out of bounds by native code
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    char *line = malloc(10);
    sprintf(line, "%d and %s", 12345, "more"); // HERE
    free(line);
    return 0;
}
