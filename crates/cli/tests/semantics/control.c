// Control flow: switches, computed goto, function pointers, recursion, VLAs, alloca, cleanup, nested loops.
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int dense(int x) {
    switch (x) {
    case 0: return 10; case 1: return 11; case 2: case 3: return 12; case 4: x++; /* fall */ case 5: return x + 100;
    case 6: break; case 7: return -7; default: return -1;
    }
    return 66;
}
static int sparse(int x) {
    switch (x) {
    case -2147483647 - 1: return 1; case -100: return 2; case 0: return 3; case 1000: return 4; case 1000000: return 5; case 2147483647: return 6;
    }
    return 0;
}
static const char *ranges(int c) {
    switch (c) {
    case 'a' ... 'z': return "lower"; case 'A' ... 'Z': return "upper"; case '0' ... '9': return "digit"; case -5 ... -1: return "negative";
    case 256 ... 100000: return "wide";
    default: return "other";
    }
}
static int wide(uint64_t x) {
    switch (x) {
    case 0: return 1; case 0xffffffffffffffffu: return 2; case 0x100000000u: return 3; case 0x100000001u: return 4; case 1: return 5;
    case 0x8000000000000000u: return 6; default: return 0;
    }
}
static int narrow(signed char c) { switch (c) { case -128: return 1; case -1: return 2; case 127: return 3; case 0: return 4; } return 5; }
static int huge(__int128 x) { switch (x) { case 5: return 1; case -5: return 2; case (__int128)1 << 90: return 3; case ((__int128)1 << 90) + 5: return 4; } return 0; }
static int boolean(_Bool b) { switch (b) { case 0: return 8; case 1: return 9; } return 0; }
static int duff(int count) {
    int n = (count + 3) / 4, steps = 0;
    switch (count % 4) { case 0: do { steps++; case 3: steps += 10; case 2: steps += 100; case 1: steps += 1000; } while (--n > 0); }
    return steps;
}

// A tiny machine by computed goto.
static int machine(const unsigned char *code) {
    static void *labels[] = { &&halt, &&push, &&add, &&mul, &&dup, &&loop };
    int stack[16], *sp = stack, rounds = 3;
    const unsigned char *pc = code;
    goto *labels[*pc++];
push: *sp++ = *pc++; goto *labels[*pc++];
add: sp--; sp[-1] += sp[0]; goto *labels[*pc++];
mul: sp--; sp[-1] *= sp[0]; goto *labels[*pc++];
dup: sp[0] = sp[-1]; sp++; goto *labels[*pc++];
loop: if (--rounds > 0) { pc = code + 2; } goto *labels[*pc++];
halt: return sp[-1];
}
static const char *relative(int i) {
    static const int offsets[] = { &&a - &&a, &&b - &&a, &&c - &&a };
    goto *(&&a + offsets[i]);
a: return "a";
b: return "b";
c: return "c";
}

static int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int is_even(int n);
static int is_odd(int n) { return n == 0 ? 0 : is_even(n - 1); }
static int is_even(int n) { return n == 0 ? 1 : is_odd(n - 1); }
static int depth(int n) { volatile char pad[64]; pad[n & 63] = (char)n; return n == 0 ? pad[0] : 1 + depth(n - 1); }

typedef int (*op)(int, int);
static int add(int a, int b) { return a + b; }
static int sub(int a, int b) { return a - b; }
static int mul(int a, int b) { return a * b; }
static op pick(char c) { return c == '+' ? add : c == '-' ? sub : mul; }
static int apply(op f, int a, int b) { return f(a, b); }
static op (*picker)(char) = pick;

static int vla(int n) {
    int a[n], b[n][n + 1], total = 0;
    for (int i = 0; i < n; i++) { a[i] = i * i; for (int j = 0; j <= n; j++) b[i][j] = i * 100 + j; }
    for (int i = 0; i < n; i++) { int row[i + 1]; memset(row, 0, sizeof row); row[i] = a[i]; total += row[i] + b[i][n] + (int)sizeof row; }
    return total + (int)sizeof b;
}
static long matrix(int n, int m, int a[n][m]) { long s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s = s * 7 + a[i][j]; return s; }
static int stacky(int n) {
    char *parts[8];
    for (int i = 0; i < 8; i++) { parts[i] = alloca((size_t)(i * n + 1)); memset(parts[i], 'a' + i, (size_t)(i * n)); parts[i][i * n] = 0; }
    int total = 0;
    for (int i = 0; i < 8; i++) total += (int)strlen(parts[i]) * (i + 1) + parts[i][0];
    return total;
}
static void leave(int *x) { printf("leave %d\n", *x); }
static int scoped(int n) {
    __attribute__((cleanup(leave))) int a = n;
    for (int i = 0; i < 2; i++) { __attribute__((cleanup(leave))) int b = n * 10 + i; if (i == n) return 5; if (n == 7) goto out; }
out:
    return a;
}

int main(void) {
    for (int i = -1; i < 9; i++) printf("%d ", dense(i));
    int values[] = { -2147483647 - 1, -100, 0, 1, 1000, 1000000, 2147483647 };
    for (int i = 0; i < 7; i++) printf("%d ", sparse(values[i]));
    int chars[] = { 'q', 'Q', '5', ' ', -3, 255, 256, 99999, 100001 };
    for (int i = 0; i < 9; i++) printf("%s ", ranges(chars[i]));
    uint64_t wides[] = { 0, 1, 2, 0xffffffffffffffff, 0x100000000, 0x100000001, 0x8000000000000000, 0xffffffff };
    for (int i = 0; i < 8; i++) printf("%d ", wide(wides[i]));
    for (int i = -128; i < 128; i += 127) printf("%d ", narrow((signed char)i));
    printf("%d %d %d %d %d\n", huge(5), huge(-5), huge((__int128)1 << 90), huge(((__int128)1 << 90) + 5), huge((__int128)5 << 64));
    printf("%d %d %d %d %d %d\n", boolean(0), boolean(3), duff(1), duff(4), duff(7), duff(18));
    printf("%d %s%s%s\n", machine((unsigned char[]){ 1, 3, 4, 3, 1, 2, 2, 5, 0 }), relative(0), relative(2), relative(1));
    printf("%d %d %d %d %d\n", ackermann(2, 5), fib(20), is_even(1000), is_odd(77), depth(5000));
    printf("%d %d %d %d\n", apply(pick('+'), 3, 4), picker('-')(3, 4), (*pick('*'))(3, 4), apply(*&mul, 5, 6));
    printf("%d %d\n", pick('+') == add, picker('-') == add);
    for (int i = 1; i < 30; i += 9) printf("%d ", vla(i));
    int grid[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
    printf("%ld %d %d\n", matrix(2, 3, grid), stacky(3), stacky(100));
    printf("%d %d %d\n", scoped(0), scoped(5), scoped(7));
    int x = 0, n = 0;
    do { if (x % 3 == 0) continue; n += x; if (n > 100) break; } while (x++ < 50 || n < 5);
    for (int i = 0, j = 10; i < j; i += 2, j--) n = n * 3 + (i ^ j);
    printf("%d %d %d\n", x, n, (x++, n += x, n - x));
    int total = 0;
    for (int i = 0; i < 5; i++) { for (int j = 0; j < 5; j++) { if (j == 3) goto next; total += i * j; } next: total++; }
    int swapped = ({ int t = total; total = 1; t * 2; });
    printf("%d %d %d %d\n", total, swapped, total ?: 5, 0 ?: 5);
    int side = 0;
    int r = (side++ && side++) || (side += 10) ? side : -1;
    printf("%d %d\n", r, side);
    const char *texts[] = { [3] = "three", [1] = "one" };
    for (int i = 0; i < 4; i++) printf("%s ", texts[i] ? texts[i] : "(none)");
    printf("%s %s\n", __func__, &"offset"[3]);
    return duff(3) & 255;
}
