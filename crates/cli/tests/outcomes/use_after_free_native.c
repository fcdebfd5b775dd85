// kind: use-after-free
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    char *text = strdup("gone");
    free(text);
    return puts(text); // HERE
}
