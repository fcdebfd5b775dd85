// kind: out-of-bounds
#include <stdlib.h>
#include <string.h>
int main(void) {
    char *name = malloc(8);
    strcpy(name, "much too long"); // HERE
    free(name);
    return 0;
}
