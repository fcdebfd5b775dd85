/* Assembly adds to a heap object after free (argument 1), through a null pointer (2), or crashes (3). */
#include <stdlib.h>

int main(int argc, char **argv) {
    int *p = malloc(sizeof *p);
    *p = 1;
    switch (argc > 1 ? argv[1][0] : 0) {
    case '1':
        free(p);
        break;
    case '2':
        p = 0;
        break;
    case '3':
        __asm__ __volatile__("ud2");
    }
    __asm__ __volatile__("addl $1, %0" : "+m"(*p) : : "cc");
    return *p - 2;
}
