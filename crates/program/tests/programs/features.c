// Every feature of C that lowering knows. `main` returns 0 if all of it computes what it should.
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define CHECK(condition) ((condition) ? (void)0 : (void)(failures++, printf("line %d: %s\n", __LINE__, #condition)))

// Keeps the compiler from computing at compile time.
#define OPAQUE(x) ({ volatile __typeof__(x) opaque_ = (x); opaque_; })

// ---- integers -------------------------------------------------------------------------------------

typedef _BitInt(24) i24;
typedef unsigned _BitInt(33) u33;
typedef _BitInt(65) i65;
typedef unsigned _BitInt(100) u100;
struct bits { unsigned a : 3; signed b : 5; unsigned long c : 40; bool d : 1; };

static void integers(void) {
    int8_t a = OPAQUE((int8_t)-100), b = OPAQUE((int8_t)-7);
    CHECK(a / b == 14 && a % b == -2 && (a >> 1) == -50 && (uint8_t)(a + b) == 149);
    CHECK(a < b && (unsigned char)a < (unsigned char)b);
    i24 c = OPAQUE((i24)-8000000);
    c -= 1000000;
    CHECK((int)c == 7777216);
    u33 d = OPAQUE((u33)0x1ffffffffull);
    d += 2;
    CHECK(d == 1);
    i65 e = OPAQUE((i65)-1);
    e *= 5;
    CHECK(e == -5 && e < 0);
    u100 f = OPAQUE((u100)1);
    f <<= 99;
    f -= 1;
    CHECK((f >> 98) == 1);
    __int128 g = OPAQUE((__int128)1 << 100);
    g = g * 3 - 1;
    CHECK((uint64_t)(g >> 64) == 0x2fffffffffull && (uint64_t)g == UINT64_MAX);
    CHECK(g / OPAQUE(7) == ((__int128)3 * ((__int128)1 << 100) - 1) / 7);
    CHECK(-g < 0 && (unsigned __int128)-g > (unsigned __int128)g);
    switch (OPAQUE(g)) {
    case ((__int128)3 << 100) - 1: break;
    default: CHECK(!"wide switch");
    }
    struct bits s = {OPAQUE(9u) & 7, -3, 0x123456789aull, true};
    s.c++;
    s.b -= 2;
    CHECK(s.a == 1 && s.b == -5 && s.c == 0x123456789bull && s.d);
    int result;
    CHECK(__builtin_add_overflow(OPAQUE(INT32_MAX), 1, &result) && result == INT32_MIN);
    CHECK(!__builtin_mul_overflow(OPAQUE(1000), 1000, &result) && result == 1000000);
    uint64_t product;
    CHECK(__builtin_mul_overflow(OPAQUE(UINT64_MAX), 3ull, &product));
    CHECK(__builtin_popcount(OPAQUE(0xf0f0u)) == 8 && __builtin_clz(OPAQUE(1u)) == 31);
    CHECK(__builtin_ctzll(OPAQUE(1ull << 40)) == 40 && __builtin_bswap32(OPAQUE(0x01020304u)) == 0x04030201u);
    CHECK(abs(OPAQUE(-5)) == 5 && (OPAQUE(0x80000001u) << 1 | OPAQUE(0x80000001u) >> 31) == 3);
    CHECK(__builtin_expect(OPAQUE(4), 4) == 4 && !__builtin_constant_p(OPAQUE(4)));
    CHECK(__builtin_object_size((void *)OPAQUE((intptr_t)&result), 0) == SIZE_MAX);
}

// ---- floating point -------------------------------------------------------------------------------

static void floats(void) {
    float a = OPAQUE(1.5f);
    double b = OPAQUE(0.1);
    long double c = OPAQUE(0.1L);
    CHECK(a * 2 == 3 && -a < 0 && a / 0 > 1e30f);
    CHECK(b + 0.2 != 0.3 && (float)b == 0.1f && fmod(7.5, OPAQUE(2.0)) == 1.5);
    CHECK(c != (long double)b && c * 10 == 1 && (double)c == 0.1 && -c < 0);
    CHECK(sizeof c == 16 && c > 0.09999999999999999999L);
    CHECK((int)OPAQUE(-3.9) == -3 && (unsigned long)OPAQUE(1.8e19) == 18000000000000000000ul);
    CHECK((float)OPAQUE(16777217) == 16777216.0f && (double)OPAQUE(-3) == -3.0);
    CHECK((long double)OPAQUE(INT64_MAX) - 1 == 9223372036854775806.0L);
    CHECK((__int128)OPAQUE(1e30) == (__int128)1000000000000000019884624838656.0);
    double nan = OPAQUE(NAN);
    CHECK(!(nan == nan) && nan != nan && !(nan < 1) && !(nan > 1) && isnan(nan));
    CHECK(fabs(OPAQUE(-2.5)) == 2.5 && floor(OPAQUE(2.7)) == 2 && sqrt(OPAQUE(16.0)) == 4);
    CHECK(fma(OPAQUE(2.0), 3, 4) == 10 && copysign(OPAQUE(3.0), -1) == -3);
    _Complex double z = OPAQUE(1.0) + 2.0i;
    z = z * z;
    CHECK(__real__ z == -3 && __imag__ z == 4);
    union { double d; uint64_t u; } pun = {OPAQUE(1.0)};
    CHECK(pun.u == 0x3ff0000000000000ull);
    __float128 wide = OPAQUE((__float128)1);
    CHECK(sizeof wide == 16);
}

// ---- vectors --------------------------------------------------------------------------------------

typedef int v4si __attribute__((vector_size(16)));
typedef unsigned v4su __attribute__((vector_size(16)));
typedef short v8hi __attribute__((vector_size(16)));
typedef signed char v2qi __attribute__((vector_size(2)));
typedef long v2di __attribute__((vector_size(16)));
typedef float v4sf __attribute__((vector_size(16)));
typedef double v2df __attribute__((vector_size(16)));
typedef int v3si __attribute__((ext_vector_type(3)));
typedef bool v8b __attribute__((ext_vector_type(8)));
typedef int v8si __attribute__((ext_vector_type(8)));

static void vectors(void) {
    v4si a = {OPAQUE(1), 2, 3, 4}, b = {10, 20, 30, OPAQUE(40)};
    v4si sum = a + b * 2 - (a << 1);
    CHECK(sum[0] == 19 && sum[3] == 76);
    v4si less = a < (v4si){2, 2, 2, 2};
    CHECK(less[0] == -1 && less[1] == 0);
    v4si picked = (less & a) | (~less & b);
    CHECK(picked[0] == 1 && picked[1] == 20);
    v4si mixed = __builtin_shufflevector(a, b, 0, 5, -1, 7);
    CHECK(mixed[0] == 1 && mixed[1] == 20 && mixed[3] == 40);
    int lane = OPAQUE(2);
    CHECK(a[lane] == 3);
    a[lane] = 77;
    CHECK(a[2] == 77 && a[1] == 2 && a[3] == 4);
    v4sf f = __builtin_convertvector(b, v4sf);
    f = f / 4 - 1;
    CHECK(f[0] == 1.5f && f[3] == 9);
    v4si equal = f == (v4sf){1.5f, 0, 0, 9};
    CHECK(equal[0] == -1 && equal[1] == 0 && equal[3] == -1);
    v2df d = {OPAQUE(1.0), -2};
    d = -d;
    CHECK(d[0] == -1 && d[1] == 2);
    v8hi h = {OPAQUE((short)-1), 2, 3, 4, 5, 6, 7, 8};
    v2di halves = (v2di)h;
    CHECK((halves[0] & 0xffffffff) == 0x2ffff);
    v2qi q = {OPAQUE((signed char)-3), 5};
    q = q * 2;
    CHECK(q[0] == -6 && q[1] == 10 && *(short *)&q == 0x0afa);
    v3si t = {OPAQUE(1), 2, 3};
    t = t * t;
    CHECK(t.x == 1 && t.z == 9);
    v8si wide = {1, OPAQUE(-2), 3, -4, 5, -6, 7, -8};
    v8b signs = __builtin_convertvector(wide > 0, v8b);
    unsigned char mask;
    memcpy(&mask, &signs, 1);
    CHECK(mask == 0x55 && signs[2] && !signs[1]);
    CHECK(__builtin_reduce_add(a) == 84 && __builtin_reduce_max(b) == 40 && __builtin_reduce_min(b) == 10);
    CHECK(__builtin_reduce_xor((v4si){1, 2, OPAQUE(4), 8}) == 15);
    v4si larger = __builtin_elementwise_max(a, (v4si){50, 50, 50, 50});
    CHECK(larger[0] == 50 && larger[2] == 77);
    v4sf magnitude = __builtin_elementwise_abs((v4sf){-1, OPAQUE(-2.0f), 3, 4});
    CHECK(magnitude[1] == 2);
    v4su shifted = (v4su){OPAQUE(0x80000000u), 8, 16, 32} >> (v4su){31, 3, 4, 5};
    CHECK(shifted[0] == 1 && shifted[3] == 1);
}

// ---- aggregates, pointers, constants --------------------------------------------------------------

struct inner { char tag; double weights[3]; };
struct outer { short id; struct inner parts[2]; struct outer *next; void (*act)(int); };
struct pair { long a, b; };
struct large { long words[8]; };
struct small { float x, y; };

static int acted;
static void act(int n) { acted += n; }
static struct outer chain[2] = {
    {1, {{'x', {1, 2, 3}}, {'y', {4, 5, 6}}}, &chain[1], act},
    {2, {{'z', {7, 8, 9}}}, 0, 0},
};
static double *into_middle = &chain[0].parts[1].weights[2];
static const char *const words[] = {"zero", "one", "two"};
static const char *tail = &"substring"[3];
static uintptr_t as_integer = (uintptr_t)&chain[1] + 4;
static long difference = (char *)&chain[1] - (char *)&chain[0];
static FILE **external_address = &stdout;
static int (*external_function)(const char *) = puts;
static long double constant_long_double = 3.14159265358979323846264338327950288L;
static __int128 constant_wide = ((__int128)0x0123456789abcdefull << 64) | 0xfedcba9876543210ull;
static wchar_t wide_text[] = L"wide";
extern int missing_variable __attribute__((weak));
extern int missing_function(int) __attribute__((weak));

static struct pair make_pair(long a, long b) { return (struct pair){a, b}; }
static struct large make_large(long first) { struct large l = {{first, 2, 3, 4, 5, 6, 7, 8}}; return l; }
static struct small make_small(float x) { return (struct small){x, x * 2}; }
static long take_large(struct large l, struct pair p) { l.words[0] += p.a; return l.words[0] + l.words[7] + p.b; }
static float take_small(struct small s) { return s.x + s.y; }

static void aggregates(void) {
    CHECK(*into_middle == 6 && chain[0].next->parts[0].weights[1] == 8 && chain[1].parts[1].tag == 0);
    chain[0].act(3);
    CHECK(acted == 3);
    CHECK(strcmp(words[OPAQUE(2)], "two") == 0 && strcmp(tail, "string") == 0);
    CHECK(as_integer == (uintptr_t)&chain[1] + 4 && difference == sizeof chain[0]);
    CHECK(*external_address == stdout && external_function == puts);
    CHECK(constant_long_double == 3.14159265358979323846264338327950288L && constant_long_double != (long double)3.14159265358979323846);
    CHECK((uint64_t)(constant_wide >> 64) == 0x0123456789abcdefull && (uint64_t)constant_wide == 0xfedcba9876543210ull);
    CHECK(wide_text[3] == L'e' && wide_text[4] == 0);
    CHECK(&missing_variable == NULL && missing_function == NULL);
    struct pair p = make_pair(OPAQUE(3L), 4);
    CHECK(p.a == 3 && p.b == 4);
    struct large l = make_large(OPAQUE(10L));
    CHECK(take_large(l, p) == 25 && l.words[0] == 10);
    struct small s = make_small(OPAQUE(1.5f));
    CHECK(take_small(s) == 4.5f);
    struct large copy = l;
    copy.words[3] = 0;
    CHECK(l.words[3] == 4 && memcmp(&l, &copy, 24) == 0);
    int grid[3][4];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) grid[i][j] = i * 10 + j;
    int *walk = &grid[0][0], total = 0;
    for (int *end = walk + 12; walk != end; walk++) total += *walk;
    CHECK(total == 138 && grid[OPAQUE(2)][OPAQUE(3)] == 23);
    struct { int n; int data[]; } *flexible = malloc(sizeof *flexible + 4 * sizeof(int));
    flexible->n = 4;
    for (int i = 0; i < flexible->n; i++) flexible->data[i] = i;
    CHECK(flexible->data[3] == 3);
    free(flexible);
    int n = OPAQUE(5);
    int vla[n];
    for (int i = 0; i < n; i++) vla[i] = i;
    CHECK(vla[4] == 4 && sizeof vla == 20);
    char *stack = __builtin_alloca(OPAQUE(10));
    strcpy(stack, "alloca");
    CHECK(stack[5] == 'a');
    _Alignas(64) char aligned[64];
    CHECK(((uintptr_t)OPAQUE(&aligned[0]) & 63) == 0);
}

// ---- control --------------------------------------------------------------------------------------

static int fibonacci(int n) {
    int a = 0, b = 1;
    for (int i = 0; i < n; i++) {
        int t = a + b;
        a = b;
        b = t;
    }
    return a;
}

static int rotate(int n) {
    int a = 1, b = 2, c = 3;
    while (n-- > 0) {
        int t = a;
        a = b;
        b = c;
        c = t;
    }
    return a * 100 + b * 10 + c;
}

static int interpret(const unsigned char *code) {
    static void *const table[] = {&&increment, &&doubled, &&stop, &&loop};
    int value = 0, rounds = 0;
    goto *table[*code];
increment:
    value++;
    goto *table[*++code];
doubled:
    value *= 2;
    goto *table[*++code];
loop:
    if (rounds++ < 2) code -= 2;
    goto *table[*++code];
stop:
    return value;
}

static int classify(int n) {
    switch (n) {
    case -1: return 10;
    case 0 ... 4: return 20;
    case 1000000: return 30;
    case 7: n++; /* fall through */
    case 9: return n;
    default: return 40;
    }
}

static jmp_buf jump;
static void control(void) {
    CHECK(fibonacci(10) == 55 && rotate(0) == 123 && rotate(1) == 231 && rotate(2) == 312 && rotate(OPAQUE(3)) == 123);
    CHECK(interpret((const unsigned char[]){0, 1, 0, 3, 2}) == 5);
    CHECK(classify(-1) == 10 && classify(3) == 20 && classify(1000000) == 30 && classify(7) == 8 && classify(9) == 9 && classify(5) == 40);
    long big = OPAQUE(1L << 40);
    switch (big) {
    case 1L << 40: break;
    default: CHECK(!"long switch");
    }
    volatile int reached = 0;
    if (setjmp(jump) == 0) {
        reached = 1;
        longjmp(jump, 5);
    } else {
        reached++;
    }
    CHECK(reached == 2);
    unsigned char c = OPAQUE((unsigned char)200);
    CHECK((c > 100 ? c : 0) == 200 && (c && !failures) == !failures);
}

// ---- variadic -------------------------------------------------------------------------------------

static double sum(int n, ...) {
    va_list arguments, again;
    va_start(arguments, n);
    va_copy(again, arguments);
    double total = 0;
    for (int i = 0; i < n; i++) {
        total += va_arg(arguments, int);
        total += va_arg(arguments, double);
    }
    total += (double)va_arg(arguments, long double);
    total += va_arg(arguments, struct pair).b;
    total += va_arg(again, int);
    va_end(again);
    va_end(arguments);
    return total;
}

static int format(char *buffer, const char *text, ...) {
    va_list arguments;
    va_start(arguments, text);
    int written = vsprintf(buffer, text, arguments);
    va_end(arguments);
    return written;
}

static int old_style();
static void variadic(void) {
    CHECK(sum(2, 1, 0.5, 2, 0.25, 4.0L, (struct pair){1, 100}) == 108.75);
    char buffer[64];
    CHECK(format(buffer, "%d %s %.2f %c %ld", 1, "two", 3.0, '4', 5L) == 14 && strcmp(buffer, "1 two 3.00 4 5") == 0);
    CHECK(old_style(3, 4) == 7);
}
static int old_style(a, b) int a, b; { return a + b; }

// ---- atomics and threads --------------------------------------------------------------------------

static _Atomic int counter;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static _Atomic(void *) pointer;
static _Atomic double real;
static __thread int per_thread = 5;
static _Thread_local struct pair pair_per_thread = {1, 2};
static int plain;

static void *work(void *argument) {
    per_thread += (int)(intptr_t)argument;
    pair_per_thread.b += per_thread;
    for (int i = 0; i < 10; i++) {
        while (atomic_flag_test_and_set(&lock)) __builtin_ia32_pause();
        plain++;
        atomic_flag_clear(&lock);
        counter++;
    }
    return (void *)(intptr_t)pair_per_thread.b;
}

static void atomics(void) {
    _Atomic unsigned char byte = OPAQUE((unsigned char)250);
    CHECK(atomic_fetch_add(&byte, 10) == 250 && byte == 4);
    _Atomic short half = OPAQUE((short)-5);
    CHECK(__atomic_fetch_max((short *)&half, 3, __ATOMIC_SEQ_CST) == -5 && half == 3);
    unsigned word = OPAQUE(12u);
    CHECK(__atomic_fetch_nand(&word, 10u, __ATOMIC_RELAXED) == 12 && word == ~8u);
    CHECK(__atomic_fetch_min(&word, 7u, __ATOMIC_RELAXED) == ~8u && word == 7);
    CHECK(__sync_fetch_and_or(&word, 8u) == 7 && __sync_xor_and_fetch(&word, 1u) == 14 && __sync_fetch_and_and(&word, 6u) == 14);
    int expected = 0;
    CHECK(atomic_compare_exchange_strong(&counter, &expected, 9) && counter == 9);
    CHECK(!atomic_compare_exchange_weak(&counter, &expected, 1) && expected == 9);
    counter = 0;
    void *old = NULL;
    CHECK(atomic_compare_exchange_strong(&pointer, &old, &counter) && atomic_exchange(&pointer, NULL) == &counter);
    CHECK(__sync_bool_compare_and_swap(&plain, 0, 1) && __sync_lock_test_and_set(&plain, 0) == 1);
    _Alignas(16) __int128 wide = OPAQUE((__int128)5);
    CHECK(__sync_val_compare_and_swap(&wide, 5, (__int128)1 << 90) == 5 && wide == (__int128)1 << 90);
    real = 1.5;
    real += 2;
    CHECK(real == 3.5);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_signal_fence(memory_order_seq_cst);
    pthread_t threads[2];
    void *result;
    for (intptr_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &result);
        CHECK((intptr_t)result == 8 + i);
    }
    CHECK(plain == 20 && counter == 20 && per_thread == 5 && pair_per_thread.b == 2);
}

// ---- assembly, linkage ----------------------------------------------------------------------------

static void assembly(void) {
    int x = OPAQUE(3);
    long y = 4;
    __asm__ volatile("" ::: "memory");
    __asm__ volatile("" : "+r"(x));
    __asm__ volatile("# a comment" : "+r"(x), "+r"(y) : : "memory");
    CHECK(x == 3 && y == 4);
    __asm__ volatile("mfence" ::: "memory");
    __asm__ volatile("lock; addl $0,0(%%rsp)" ::: "memory", "cc");
    __asm__ volatile("pause");
    __asm__ volatile("rep; nop");
}

static int order[4], ordered;
__attribute__((constructor(201))) static void second(void) { order[ordered++] = 2; }
__attribute__((constructor(200))) static void first(void) { order[ordered++] = 1; }
__attribute__((constructor)) static void third(void) { order[ordered++] = 3; }
__attribute__((destructor)) static void last(void) { ordered = 0; }
static int real_function(int n) { return n + 1; }
int alias_function(int n) __attribute__((alias("real_function")));
static int aliased_variable = 17;
extern int alias_variable __attribute__((alias("aliased_variable")));
static int fast_version(int n) { return n * 2; }
static void *resolve(void) { return (void *)fast_version; }
int chosen(int n) __attribute__((ifunc("resolve")));
__attribute__((weak)) int weak_definition(void) { return 6; }

static void linkage(void) {
    CHECK(order[0] == 1 && order[1] == 2 && order[2] == 3);
    CHECK(alias_function(OPAQUE(1)) == 2 && alias_variable == 17 && chosen(OPAQUE(21)) == 42 && weak_definition() == 6);
}

int main(void) {
    integers();
    floats();
    vectors();
    aggregates();
    control();
    variadic();
    atomics();
    assembly();
    linkage();
    return failures;
}
