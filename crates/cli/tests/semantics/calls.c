// Structs by value in every class of the ABI, both ways, and callbacks from native code.
#define _GNU_SOURCE
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <inttypes.h>

struct i1 { char c; };
struct i3 { char c[3]; };
struct i8 { int a, b; };
struct i12 { int a, b, c; };
struct i16 { long a; char b; };
struct f4 { float f; };
struct f8 { float a, b; };
struct f12 { float a, b, c; };
struct f16 { float a, b, c, d; };
struct d8 { double d; };
struct d16 { double a, b; };
struct if16 { int i; float f; double d; };
struct di16 { double d; long i; };
struct id16 { short i; double d; };
struct big { long a, b, c; };
struct huge { int v[40]; double d; };
struct ld { long double l; };
struct p16 { void *p; unsigned char tag; };
struct nest { struct f8 f; struct i8 i; };
union u16 { double d; long l[2]; };
struct bitty { unsigned a : 3, b : 29; int c : 7; };
struct wide { __int128 w; };
struct none {};

static struct i1 f_i1(struct i1 s) { s.c++; return s; }
static struct i3 f_i3(struct i3 s) { s.c[0] ^= s.c[2]; return s; }
static struct i8 f_i8(struct i8 s) { return (struct i8){ s.b, s.a }; }
static struct i12 f_i12(struct i12 s) { s.c += s.a * s.b; return s; }
static struct i16 f_i16(struct i16 s) { s.a -= s.b; s.b++; return s; }
static struct f4 f_f4(struct f4 s) { s.f *= 2; return s; }
static struct f8 f_f8(struct f8 s) { return (struct f8){ s.b, -s.a }; }
static struct f12 f_f12(struct f12 s) { s.c = s.a / s.b; return s; }
static struct f16 f_f16(struct f16 s) { s.d += s.a + s.b + s.c; return s; }
static struct d8 f_d8(struct d8 s) { s.d = -s.d; return s; }
static struct d16 f_d16(struct d16 s) { return (struct d16){ s.a + s.b, s.a - s.b }; }
static struct if16 f_if16(struct if16 s) { s.i *= 3; s.f += s.i; s.d /= 2; return s; }
static struct di16 f_di16(struct di16 s) { s.i += (long)s.d; return s; }
static struct id16 f_id16(struct id16 s) { s.d += s.i; s.i = -s.i; return s; }
static struct big f_big(struct big s) { long t = s.a; s.a = s.c; s.c = t; return s; }
static struct huge f_huge(struct huge s, int n) { for (int i = 0; i < 40; i++) s.v[i] += n * i; s.d += s.v[39]; return s; }
static struct ld f_ld(struct ld s) { s.l *= 3; return s; }
static struct p16 f_p16(struct p16 s) { s.tag += *(unsigned char *)s.p; return s; }
static struct nest f_nest(struct nest s) { s.f.a += s.i.b; s.i.a -= (int)s.f.b; return s; }
static union u16 f_u16(union u16 u) { u.l[1] ^= u.l[0]; return u; }
static struct bitty f_bitty(struct bitty s) { s.a++; s.b -= 2; s.c = -s.c; return s; }
static struct wide f_wide(struct wide s) { s.w *= 3; return s; }
static struct none f_none(struct none s) { return s; }
static __int128 f_i128(int x, __int128 w, unsigned __int128 v) { return w * x + v; }
static long double f_long(long double a, double b, float c, int d) { return a * b + c - d; }
static double many(int a, double b, struct big c, float d, struct d16 e, long f, struct i16 g, char h, short i, struct f8 j, int k, int l, struct if16 m, long double n,
                   unsigned char o, double p, double q, double r, double s, double t, float u) {
    return a + b + c.a + c.c + d + e.b + f + g.a + g.b + h + i + j.a + j.b + k + l + m.i + m.f + m.d + (double)n + o + p + q + r + s + t + u;
}
static _Bool f_bool(_Bool a, signed char b, unsigned short c, short d) { return a ? b < c : d < 0; }

typedef struct huge (*huge_function)(struct huge, int);
typedef struct d16 (*d16_function)(struct d16);

static int compares;
static int by_value(const void *a, const void *b) { compares++; int x = *(const int *)a, y = *(const int *)b; return (x > y) - (x < y); }
static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }
struct record { int key, order; double weight; };
static int by_key(const void *a, const void *b) { return ((const struct record *)a)->key - ((const struct record *)b)->key; }
static int by_weight(const void *a, const void *b, void *context) {
    double x = ((const struct record *)a)->weight * *(double *)context, y = ((const struct record *)b)->weight * *(double *)context;
    return (x > y) - (x < y);
}
static void visit(const void *node, VISIT which, int depth) {
    if (which == postorder || which == leaf) printf("%d@%d ", **(int *const *)node, depth);
}
static int deep(const void *a, const void *b) {
    // A callback that itself makes native calls with callbacks.
    int inner[3] = { 3, 1, 2 };
    qsort(inner, 3, sizeof *inner, by_value);
    return inner[0] == 1 ? by_value(a, b) : 0;
}

int main(void) {
    printf("%d\n", f_i1((struct i1){ 'a' }).c);
    struct i3 s3 = f_i3((struct i3){ { 1, 2, 3 } }); printf("%d %d %d\n", s3.c[0], s3.c[1], s3.c[2]);
    struct i8 s8 = f_i8((struct i8){ 1, -2 }); printf("%d %d\n", s8.a, s8.b);
    struct i12 s12 = f_i12((struct i12){ 3, 4, 5 }); printf("%d %d %d\n", s12.a, s12.b, s12.c);
    struct i16 s16 = f_i16((struct i16){ 1L << 40, -3 }); printf("%ld %d\n", s16.a, s16.b);
    printf("%g\n", f_f4((struct f4){ 1.25f }).f);
    struct f8 sf8 = f_f8((struct f8){ 1.5f, 2.5f }); printf("%g %g\n", sf8.a, sf8.b);
    struct f12 sf12 = f_f12((struct f12){ 1, 3, 0 }); printf("%g %g %.9g\n", sf12.a, sf12.b, sf12.c);
    struct f16 sf16 = f_f16((struct f16){ 1, 2, 3, 4 }); printf("%g %g\n", sf16.a, sf16.d);
    printf("%g\n", f_d8((struct d8){ 0.1 }).d);
    struct d16 sd = f_d16((struct d16){ 0.1, 0.2 }); printf("%.17g %.17g\n", sd.a, sd.b);
    struct if16 sif = f_if16((struct if16){ 7, 0.5f, 9 }); printf("%d %g %g\n", sif.i, sif.f, sif.d);
    struct di16 sdi = f_di16((struct di16){ 2.5, -9 }); printf("%g %ld\n", sdi.d, sdi.i);
    struct id16 sid = f_id16((struct id16){ -5, 0.25 }); printf("%d %g\n", sid.i, sid.d);
    struct big sb = f_big((struct big){ 1, 2, 3 }); printf("%ld %ld %ld\n", sb.a, sb.b, sb.c);
    struct huge h = { { 1, 2, 3 }, 0.5 }, h2 = f_huge(h, 2); printf("%d %d %g %d\n", h2.v[2], h2.v[39], h2.d, h.v[2]);
    printf("%.20Lg\n", f_ld((struct ld){ 1.1L }).l);
    unsigned char byte = 200; printf("%d\n", f_p16((struct p16){ &byte, 100 }).tag);
    struct nest sn = f_nest((struct nest){ { 1, 2 }, { 3, 4 } }); printf("%g %d\n", sn.f.a, sn.i.a);
    union u16 u = { .l = { 77, 3 } }; printf("%ld\n", f_u16(u).l[1]);
    struct bitty sbt = f_bitty((struct bitty){ 7, 1000, 33 }); printf("%u %u %d\n", sbt.a, sbt.b, sbt.c);
    printf("%lld %zu\n", (long long)f_wide((struct wide){ -5 }).w, sizeof(struct none));
    f_none((struct none){});
    __int128 w = f_i128(3, (__int128)1 << 100, 7); printf("%" PRIx64 " %" PRIx64 "\n", (uint64_t)(w >> 64), (uint64_t)w);
    printf("%.20Lg\n", f_long(1.1L, 2.5, 0.5f, 3));
    printf("%.17g\n", many(1, 2.5, sb, 0.25f, sd, 1L << 33, s16, 'c', -9, sf8, 11, 12, sif, 1.125L, 255, 1, 2, 3, 4, 5, 6.5f));
    printf("%d %d\n", f_bool(1, -1, 65535, 0), f_bool(0, 0, 0, -1));

    huge_function hf = f_huge; d16_function df[2] = { f_d16, f_d16 };
    h2 = hf(h2, -1); sd = df[h2.v[0] & 1](df[0](sd)); printf("%d %.17g\n", h2.v[20], sd.a);
    double (*volatile many_pointer)(int, double, struct big, float, struct d16, long, struct i16, char, short, struct f8, int, int, struct if16, long double, unsigned char,
                                    double, double, double, double, double, float) = many;
    printf("%.17g\n", many_pointer(1, 2.5, sb, 0.25f, sd, 3, s16, 'c', -9, sf8, 11, 12, sif, 1.125L, 255, 1, 2, 3, 4, 5, 6.5f));

    div_t d = div(-17, 5); ldiv_t l = ldiv(1L << 40, -7); lldiv_t ll = lldiv(-(1LL << 50), 1000);
    imaxdiv_t im = imaxdiv(-9, 2);
    printf("%d %d %ld %ld %lld %lld %d %d\n", d.quot, d.rem, l.quot, l.rem, ll.quot, ll.rem, (int)im.quot, (int)im.rem);
    lldiv_t (*div_pointer)(long long, long long) = lldiv;
    printf("%lld\n", div_pointer(100, 7).rem);

    int numbers[50];
    for (int i = 0; i < 50; i++) numbers[i] = (i * 7919) % 101 - 50;
    qsort(numbers, 50, sizeof *numbers, by_value);
    for (int i = 0; i < 50; i += 7) printf("%d ", numbers[i]);
    int key = numbers[31], *found = bsearch(&key, numbers, 50, sizeof key, by_value);
    int absent = 1000;
    printf("%d %d %d\n", (int)(found - numbers) >= 0 && *found == key, bsearch(&absent, numbers, 50, sizeof key, by_value) == NULL, compares > 50);
    const char *names[] = { "pear", "apple", "fig", "banana", "cherry" };
    qsort(names, 5, sizeof *names, by_name);
    for (int i = 0; i < 5; i++) printf("%s ", names[i]);
    struct record records[40];
    for (int i = 0; i < 40; i++) records[i] = (struct record){ (i * 13) % 7, i, (i * 29 % 17) / 3.0 };
    // glibc's qsort is stable while memory lasts (it merges); programs come to rely on it.
    qsort(records, 40, sizeof *records, by_key);
    for (int i = 0; i < 40; i++) printf("%d:%d ", records[i].key, records[i].order);
    double sign = -1;
    qsort_r(records, 40, sizeof *records, by_weight, &sign);
    for (int i = 0; i < 40; i += 5) printf("%g ", records[i].weight);
    printf("\n");
    int more[9] = { 9, 3, 7, 1, 8, 2, 6, 4, 5 };
    qsort(more, 9, sizeof *more, deep);
    for (int i = 0; i < 9; i++) printf("%d ", more[i]);
    size_t count = 9;
    int four = 4, ninety = 90, table[20] = { 0 };
    memcpy(table, more, sizeof more);
    printf("%d %d ", lfind(&four, table, &count, sizeof four, by_value) != NULL, lfind(&ninety, table, &count, sizeof four, by_value) == NULL);
    lsearch(&ninety, table, &count, sizeof four, by_value);
    printf("%zu %d\n", count, table[9]);
    void *tree = NULL;
    for (int i = 0; i < 9; i++) tsearch(&more[(i * 4) % 9], &tree, by_value);
    twalk(tree, visit);
    printf("%d\n", tfind(&four, &tree, by_value) != NULL);
    return compares & 0x3f;
}
