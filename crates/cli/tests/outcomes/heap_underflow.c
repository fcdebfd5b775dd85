// kind: out-of-bounds
#include <stdlib.h>
int main(void) {
    char *text = malloc(16), *other = malloc(16);
    return other[-1] + text[0]; // HERE
}
