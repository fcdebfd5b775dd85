/* Enters the kernel, jumps away, or changes stacks: not executed, and said so. */
#include <stdio.h>

static char other[4096];

int main(int argc, char **argv) {
    (void)argv;
    printf("before\n");
    if (argc > 3) {
        void *top = other + sizeof other - 64;
        __asm__ __volatile__("leaq (%0), %%rsp" : : "r"(top));
    }
    if (argc > 2) {
        void *target = other;
        __asm__ __volatile__("movq %0, %%rcx\n\tjmp *%%rcx" : : "r"(target) : "rcx");
    }
    if (argc > 1) {
        long result;
        __asm__ __volatile__("syscall" : "=a"(result) : "0"(39L) : "rcx", "r11", "memory");
        printf("%d\n", result > 0);
    }
    return 0;
}
