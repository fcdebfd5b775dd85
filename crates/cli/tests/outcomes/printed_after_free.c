// kind: use-after-free
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    char *text = strdup("gone");
    free(text);
    printf("it was at %p\n", (void *)text);
    printf("%s\n", text); // HERE
    return 0;
}
