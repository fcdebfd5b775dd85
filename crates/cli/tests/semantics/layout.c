// Bit-fields, unions, packed and aligned structs, arrays of structs, designated initialisers, copies.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct bits { int a : 3; unsigned b : 5; int c : 11; unsigned d : 1; long long e : 40; unsigned : 0; short f : 9; _Bool g : 1; };
struct wide_bits { unsigned long long a : 33, b : 31, c : 1; long long d : 63; unsigned e : 32; signed char f : 7; };
struct __attribute__((packed)) packed { char a; int b; short c; double d; char e[3]; long long f; };
struct __attribute__((packed)) packed_bits { unsigned a : 3; unsigned long long b : 50; int c : 17; char d; };
struct aligned { char a; _Alignas(32) int b; char c; };
union mixed { int32_t i; float f; uint8_t bytes[8]; struct { uint16_t lo, hi; } half; double d; void *p; };
struct nested { struct { int x, y; } at[3]; union { int i; char c[4]; }; struct bits b; const char *name; };
struct empty_tail { int n; int data[]; };

static void dump(const char *name, const void *at, size_t bytes) {
    printf("%s:", name);
    for (size_t i = 0; i < bytes; i++) printf(" %02x", ((const unsigned char *)at)[i]);
    printf("\n");
}

static struct bits global_bits = { -4, 31, -1000, 1, -123456789012LL, -200, 1 };
static const struct packed global_packed = { 'x', -5, 77, 2.5, { 1, 2, 3 }, 0x1122334455667788 };
static struct nested table[2] = {
    { .at = { { 1, 2 }, [2] = { 5, 6 } }, .i = 0x41424344, .name = "first" },
    { .at[1].y = 9, .c = { 'z' }, .b = { .c = 7 }, .name = "second" },
};
static int matrix[3][4] = { { 1, 2, 3 }, [2] = { 9, [3] = 8 } };
static union mixed unions[] = { { .f = 1.0f }, { .i = -1 }, { .d = 3.25 }, { .half = { 1, 2 } } };

static void show_bits(const struct bits *b) {
    printf("%d %u %d %u %lld %d %d\n", b->a, b->b, b->c, b->d, (long long)b->e, b->f, b->g);
}

int main(void) {
    show_bits(&global_bits);
    struct bits b;
    memset(&b, 0, sizeof b);
    for (int i = -3; i < 40; i += 5) {
        b.a = i; b.b = i; b.c = i * 300; b.d = i; b.e = (long long)i * 30000000001LL; b.f = i * 20; b.g = i & 4;
        show_bits(&b);
        dump("bits", &b, sizeof b);
    }
    b.a++; b.b--; b.c += 3; b.e -= 5; b.f *= 2; b.b |= 3; b.c ^= 0x55;
    show_bits(&b);
    printf("%d %d %d\n", b.a = 5, b.b = 77, (int)(b.f = 300));
    struct wide_bits w = { 1, 2, 1, -3, 4, -5 };
    w.a -= 2; w.b += 0x7fffffff; w.d *= 0x123456789; w.e = ~w.e; w.f <<= 2;
    printf("%llx %llx %u %lld %x %d\n", (unsigned long long)w.a, (unsigned long long)w.b, w.c, (long long)w.d, w.e, w.f);
    struct packed_bits pb = { 5, 0x2aaaaaaaaaaaa, -3, 'q' };
    pb.b++; pb.c -= 100; pb.a += 6;
    printf("%u %llx %d %c %zu\n", pb.a, (unsigned long long)pb.b, pb.c, pb.d, sizeof pb);
    dump("packed bits", &pb, sizeof pb);

    printf("%zu %zu %zu %zu %zu %zu\n", sizeof(struct bits), sizeof(struct packed), sizeof(struct aligned),
           sizeof(union mixed), sizeof(struct nested), sizeof(struct empty_tail));
    printf("%zu %zu %zu %zu\n", offsetof(struct packed, b), offsetof(struct packed, d), offsetof(struct packed, f),
           offsetof(struct aligned, b));
    dump("packed", &global_packed, sizeof global_packed);
    struct packed p[3] = { global_packed, global_packed };
    p[1].b *= 1000; p[1].d /= 3; p[2] = p[1]; p[2].f = -p[2].f; p[2].e[1] = 99;
    for (int i = 0; i < 3; i++) printf("%c %d %d %.17g %d %lld\n", p[i].a, p[i].b, p[i].c, p[i].d, p[i].e[1], p[i].f);
    int *unaligned = (int *)(void *)((char *)p + 1);
    int copy;
    memcpy(&copy, unaligned, sizeof copy);
    printf("%d\n", copy);

    union mixed u;
    memset(&u, 0, sizeof u);
    u.f = 3.14159f; printf("%x %u %u %d\n", u.i, u.half.lo, u.half.hi, u.bytes[2]);
    u.d = -0.1; dump("union", &u, sizeof u);
    u.bytes[7] ^= 0x80; printf("%.17g\n", u.d);
    for (size_t i = 0; i < sizeof unions / sizeof *unions; i++) dump("union", &unions[i], 4);

    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 3; i++) printf("(%d %d) ", table[t].at[i].x, table[t].at[i].y);
        printf("%c%c %d %s\n", table[t].c[0] ? table[t].c[0] : '-', table[t].c[3] ? table[t].c[3] : '-', table[t].b.c, table[t].name);
    }
    struct nested swap = table[0];
    table[0] = table[1]; table[1] = swap;
    printf("%s %s %d\n", table[0].name, table[1].name, table[1].at[2].y);
    int sum = 0;
    for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) sum = sum * 3 + matrix[i][j];
    printf("%d %d\n", sum, (int)(&matrix[2][1] - &matrix[0][0]));
    struct aligned al[2];
    printf("%d %d\n", (int)((uintptr_t)&al[1].b % 32), (int)((char *)&al[1] - (char *)&al[0]));
    struct { int n; int data[4]; } literal = { 4, { 1, 2, 3, 4 } };
    int *q = (int[]){ 10, 20, 30 };
    printf("%d %d %d\n", literal.data[literal.n - 1], q[1], ((struct bits){ .c = -7 }).c);
    return sizeof(struct wide_bits);
}
