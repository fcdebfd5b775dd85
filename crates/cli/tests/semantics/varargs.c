// Variadic functions of the program's own, and va_list handed to native ones.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair { int a, b; };
struct point { double x, y; };
struct mixed { long n; double d; };
struct big { int v[10]; };
struct small { char c[3]; };
struct fpair { float a, b; };
struct ld { long double l; };

// One letter a value: what comes next in the list.
static void show(const char *kinds, ...) {
    va_list ap, again;
    va_start(ap, kinds);
    va_copy(again, ap);
    for (const char *k = kinds; *k; k++) {
        switch (*k) {
        case 'i': printf("%d ", va_arg(ap, int)); break;
        case 'u': printf("%u ", va_arg(ap, unsigned)); break;
        case 'l': printf("%ld ", va_arg(ap, long)); break;
        case 'q': printf("%lld ", va_arg(ap, long long)); break;
        case 'd': printf("%g ", va_arg(ap, double)); break;
        case 'L': printf("%.18Lg ", va_arg(ap, long double)); break;
        case 's': printf("%s ", va_arg(ap, char *)); break;
        case 'p': { struct pair s = va_arg(ap, struct pair); printf("{%d %d} ", s.a, s.b); break; }
        case 'P': { struct point s = va_arg(ap, struct point); printf("{%g %g} ", s.x, s.y); break; }
        case 'm': { struct mixed s = va_arg(ap, struct mixed); printf("{%ld %g} ", s.n, s.d); break; }
        case 'b': { struct big s = va_arg(ap, struct big); printf("{%d..%d} ", s.v[0], s.v[9]); break; }
        case 'S': { struct small s = va_arg(ap, struct small); printf("{%d %d %d} ", s.c[0], s.c[1], s.c[2]); break; }
        case 'f': { struct fpair s = va_arg(ap, struct fpair); printf("{%g %g} ", s.a, s.b); break; }
        case 'D': { struct ld s = va_arg(ap, struct ld); printf("{%.18Lg} ", s.l); break; }
        case 'w': { __int128 w = va_arg(ap, __int128); printf("%llx:%llx ", (long long)(w >> 64), (long long)w); break; }
        case 'F': printf("%d ", va_arg(ap, int (*)(int))(20)); break;
        }
    }
    va_end(ap);
    if (kinds[0] == 'i') printf("again %d", va_arg(again, int));
    va_end(again);
    printf("\n");
}

static int doubled(int x) { return 2 * x; }

static char *format(const char *fmt, ...) {
    static char buffer[512];
    va_list ap, measure;
    va_start(ap, fmt);
    va_copy(measure, ap);
    int needed = vsnprintf(NULL, 0, fmt, measure);
    va_end(measure);
    int n = vsnprintf(buffer, sizeof buffer, fmt, ap);
    va_end(ap);
    return needed == n && (size_t)n == strlen(buffer) ? buffer : "mismatch";
}

static int sum(int count, va_list ap) { int s = 0; while (count--) s += va_arg(ap, int); return s; }
static int sum_twice(int count, ...) {
    va_list ap, copy;
    va_start(ap, count);
    va_copy(copy, ap);
    int s = sum(count, ap) * 1000 + sum(count, copy);
    va_end(ap); va_end(copy);
    return s;
}
static double average(int count, ...) {
    va_list ap;
    va_start(ap, count);
    double s = 0;
    for (int i = 0; i < count; i++) s += va_arg(ap, double);
    va_end(ap);
    return s / count;
}
static int parse(const char *text, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsscanf(text, fmt, ap);
    va_end(ap);
    return n;
}
static void report(FILE *out, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vfprintf(out, fmt, ap);
    va_end(ap);
}
// Fixed arguments in registers and on the stack before the variadic ones.
static long after_many(int a, int b, int c, int d, int e, int f, int g, double h, ...) {
    va_list ap;
    va_start(ap, h);
    long s = a + b + c + d + e + f + g + (long)h;
    s = s * 10 + va_arg(ap, int);
    s = s * 10 + (long)va_arg(ap, double);
    s = s * 10 + va_arg(ap, long);
    va_end(ap);
    return s;
}
static int recursive(int depth, ...) {
    va_list ap;
    va_start(ap, depth);
    int x = va_arg(ap, int), y = va_arg(ap, int);
    va_end(ap);
    return depth ? recursive(depth - 1, y, x + y) : x;
}

int main(void) {
    struct pair p = { 1, -2 };
    struct point pt = { 0.5, 1.5 };
    struct mixed m = { 1L << 40, -2.25 };
    struct big b = { { 1, [9] = 10 } };
    struct small s = { { 7, 8, 9 } };
    struct fpair f = { 2.5f, -0.5f };
    struct ld l = { 1.1L };
    show("iulqdLs", -1, 4000000000u, -5L, 1LL << 50, 2.5, 3.5L, "text");
    show("pPmbSfDw", p, pt, m, b, s, f, l, ((__int128)1 << 70) | 5);
    show("ididididididididididL", 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5, 10, 10.5, 0.1L);
    show("iLiLwiDi", 1, 2.0L, 3, 4.0L, (__int128)-1, 6, l, 7);
    show("dddddddddPPi", 1., 2., 3., 4., 5., 6., 7., 8., 9., pt, pt, 3);
    show("pppppppi", p, p, p, p, p, p, p, 1);
    show("iiiiiimbms", 1, 2, 3, 4, 5, 6, m, b, m, "end");
    show("isdFs", (char)'c', "x", (double)1.25f, doubled, "");
    show("");
    printf("%s\n", format("%d|%5.2f|%s|%c|%x|%ld|%Lf|%%|%8s|%-8s|%+d|%05d", 42, 3.14159, "str", 'z', 255, -1L, 2.5L, "right", "left", 7, 42));
    printf("%s\n", format("%d %d %d %d %d %d %d %d %g %g %g %g %g %g %g %g %g %g %s", 1, 2, 3, 4, 5, 6, 7, 8, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., "last"));
    printf("%s\n", format("%*d|%-*d|%.*f|%.*s", 6, 42, 6, 42, 3, 2.0, 3, "truncated"));
    printf("%s\n", format("%hhd %hd %ld %lld %zu %jd %td %p", -1, -1, -1L, -1LL, (size_t)7, (intmax_t)8, (ptrdiff_t)-9, (void *)0));
    printf("%s\n", format("%2$s %1$d %2$s", 5, "order"));
    printf("%d %d\n", sum_twice(5, 1, 2, 3, 4, 5), sum_twice(9, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    printf("%g\n", average(10, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.));
    int x, y; double d; char word[16];
    printf("%d", parse("12 0x1f 2.5 hello", "%d %x %lf %15s", &x, &y, &d, word));
    printf(" %d %d %g %s\n", x, y, d, word);
    report(stdout, "%s %d %.2f\n", "report", 1, 2.0);
    printf("%ld %d\n", after_many(1, 2, 3, 4, 5, 6, 7, 8, 1, 2.0, 3L), recursive(20, 0, 1));
    int (*print)(const char *, ...) = printf;
    print("%d %s %g\n", 1, "through a pointer", 0.5);
    void (*shower)(const char *, ...) = show;
    shower("idP", 3, 4.5, pt);
    char *made = NULL;
    snprintf(word, sizeof word, "%s-%d", "cut short because long", 3);
    printf("%s %d\n", word, snprintf(NULL, 0, "%1000d", 1));
    free(made);
    return sum_twice(1, 3) & 127;
}
