/* Enters the kernel: not executed, and said so. */
#include <stdio.h>

int main(int argc, char **argv) {
    (void)argv;
    printf("before\n");
    if (argc > 1) {
        long result;
        __asm__ __volatile__("syscall" : "=a"(result) : "0"(39L) : "rcx", "r11", "memory");
        printf("%d\n", result > 0);
    }
    return 0;
}
