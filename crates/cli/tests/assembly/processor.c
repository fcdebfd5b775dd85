/* Questions to the processor: the answers differ, so they are only checked for plausibility. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void cpuid(unsigned leaf, unsigned out[4]) {
    __asm__ __volatile__("cpuid" : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3]) : "0"(leaf), "2"(0));
}

static uint64_t time_stamp(void) {
    uint32_t low, high;
    __asm__ __volatile__("lfence; rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static uint64_t time_stamp_and_processor(unsigned *processor) {
    uint64_t stamp;
    __asm__ __volatile__("rdtscp\n\tshlq $32, %%rdx\n\torq %%rdx, %0" : "=a"(stamp), "=c"(*processor) : : "rdx", "cc");
    return stamp;
}

int main(int argc, char **argv) {
    unsigned out[4];
    char vendor[13] = "";
    cpuid(0, out);
    memcpy(vendor, &out[1], 4);
    memcpy(vendor + 4, &out[3], 4);
    memcpy(vendor + 8, &out[2], 4);
    printf("vendor of %zu letters, leaves: %d\n", strlen(vendor), out[0] > 0);
    cpuid(1, out);
    printf("sse2 %d\n", out[3] >> 26 & 1);

    unsigned processor = ~0u;
    uint64_t first = time_stamp(), second = time_stamp();
    uint64_t third = time_stamp_and_processor(&processor);
    printf("time goes on: %d %d, on a processor: %d\n", first < second, second < third, processor != ~0u);
    if (argc > 1)
        printf("%s %llu %llu\n", argv[1], (unsigned long long)first, (unsigned long long)third);
    __builtin_cpu_init();
    printf("sse2: %d, wider: %d\n", __builtin_cpu_supports("sse2") != 0, __builtin_cpu_supports("avx2") >= 0);
    return 0;
}
