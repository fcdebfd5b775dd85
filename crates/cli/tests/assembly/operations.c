/* Inline assembly of all shapes: what it prints is what it prints natively. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int compare_and_swap(volatile int *p, int old, int new) {
    int seen;
    __asm__ __volatile__("lock; cmpxchgl %2, %1" : "=a"(seen), "+m"(*p) : "r"(new), "0"(old) : "memory", "cc");
    return seen;
}

static long fetch_and_add(volatile long *p, long by) {
    __asm__ __volatile__("lock; xaddq %0, %1" : "+r"(by), "+m"(*p) : : "memory", "cc");
    return by;
}

static char exchange8(char *p, char value) {
    __asm__ __volatile__("xchgb %0, %1" : "+q"(value), "+m"(*p) : : "memory");
    return value;
}

static unsigned exchange_in_register(unsigned *p, unsigned value) {
    __asm__ __volatile__("xchgl %0, (%1)" : "+r"(value) : "r"(p) : "memory");
    return value;
}

/* The address is just a number to the compiler. */
static void store_at(uintptr_t at, uint16_t value) {
    __asm__ __volatile__("movw %w1, (%0)" : : "r"(at), "r"(value) : "memory");
}

/* Linux's way of naming "the memory at p": a dummy much larger than the object. */
struct dummy { unsigned long words[100]; };
static void increment(int *p) {
    __asm__ __volatile__("lock; incl %0" : "+m"(*(struct dummy *)p));
}

static void add_128(uint64_t *low, uint64_t *high, uint64_t a, uint64_t b) {
    __asm__("addq %2, %0\n\tadcq %3, %1" : "+r"(*low), "+&r"(*high) : "r"(a), "r"(b) : "cc");
}

struct digits { uint8_t d[4]; };

/* Four outputs of different sizes. */
static void split(uint64_t x) {
    uint8_t a;
    uint16_t b;
    uint32_t c;
    uint64_t d;
    __asm__("movb %b4, %0\n\tmovw %w4, %1\n\tmovl %k4, %2\n\tmovq %4, %3"
            : "=&q"(a), "=&r"(b), "=&r"(c), "=&r"(d) : "r"(x));
    printf("split %u %u %u %llu\n", a, b, c, (unsigned long long)d);
}

static int carry_of(uint32_t a, uint32_t b) {
    int carry;
    __asm__("addl %2, %1" : "=@ccc"(carry), "+r"(a) : "r"(b));
    return carry;
}

static void *copy(void *to, const void *from, size_t n) {
    void *at = to;
    __asm__ __volatile__("rep movsb" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
    return to;
}

typedef float vec4 __attribute__((vector_size(16)));

int main(void) {
    int n = 5;
    printf("cas %d", compare_and_swap(&n, 5, 7));
    printf(" %d", n);
    printf(" %d", compare_and_swap(&n, 5, 9));
    printf(" %d\n", n);

    long total = 1L << 40;
    printf("xadd %ld", fetch_and_add(&total, -3));
    printf(" %ld\n", total);

    char c = 'a';
    printf("xchg %c", exchange8(&c, 'b'));
    printf("%c\n", c);

    unsigned word = 0xdeadbeef;
    printf("xchg %x", exchange_in_register(&word, 0x12345678));
    printf(" %x\n", word);
    store_at((uintptr_t)&word + 1, 0xabcd);
    printf("store %x\n", word);

    static int counter = 41;
    increment(&counter);
    printf("inc %d\n", counter);

    for (unsigned x = 1; x; x = x << 7 | x >> 29 & (x < 0x1000)) {
        unsigned first, last;
        __asm__("bsfl %1, %0" : "=r"(first) : "rm"(x) : "cc");
        __asm__("bsrl %1, %0" : "=r"(last) : "rm"(x) : "cc");
        printf("bits of %x: %u %u\n", x, first, last);
    }

    uint64_t low = ~0ull - 3, high = 6;
    add_128(&low, &high, 10, 1);
    printf("adc %llu %llu\n", (unsigned long long)low, (unsigned long long)high);

    split(0x8182838485868788);
    printf("carry %d %d\n", carry_of(0xffffffff, 1), carry_of(0x7fffffff, 1));

    /* An immediate, and one that the template doubles. */
    int shifted = 3;
    __asm__("shll %1, %0\n\taddl %2, %0" : "+r"(shifted) : "I"(4), "i"(100 * 2) : "cc");
    printf("imm %d\n", shifted);

    /* Labels, a loop and callee-saved registers. */
    unsigned long product = 1;
    __asm__("movq $10, %%rbx\n1:\timulq %%rbx, %0\n\tdecq %%rbx\n\tjnz 1b" : "+r"(product) : : "rbx", "r12", "r13", "r14", "r15", "cc");
    printf("10! = %lu\n", product);

    /* The stack and the flags. */
    unsigned long flags;
    __asm__ __volatile__("xorl %%eax, %%eax\n\tpushfq\n\tpopq %0" : "=r"(flags) : : "rax", "cc");
    printf("zero flag %lu\n", flags >> 6 & 1);

    char text[] = "assembly", into[16] = "................";
    copy(into, text, sizeof text);
    copy(into + sizeof into, text + sizeof text, 0);
    printf("copied %s\n", into);

    unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct digits *middle = (struct digits *)(bytes + 2);
    __asm__("bswapl %0" : "+r"(*(uint32_t *)middle));
    __asm__("notb %0" : "+m"(bytes[7]));
    for (int i = 0; i < 8; i++)
        printf("%d ", bytes[i]);
    printf("\n");

    double root;
    __asm__("sqrtsd %1, %0" : "=x"(root) : "x"(2.0));
    float sum = 1.5f;
    __asm__("addss %1, %0" : "+x"(sum) : "x"(2.25f));
    long double half;
    __asm__("fldl2e" : "=t"(half));
    vec4 lanes = {1, 2, 3, 4};
    __asm__("mulps %0, %0" : "+x"(lanes));
    printf("float %.15f %.2f %.15Lf %g %g %g %g\n", root, sum, half, lanes[0], lanes[1], lanes[2], lanes[3]);

    unsigned __int128 wide = (unsigned __int128)7 << 64 | 9;
    uint64_t quotient, rest;
    __asm__("divq %4" : "=a"(quotient), "=d"(rest) : "0"((uint64_t)wide), "1"((uint64_t)(wide >> 64)), "r"(11ul) : "cc");
    printf("div %llu %llu\n", (unsigned long long)quotient, (unsigned long long)rest);
    return 0;
}
