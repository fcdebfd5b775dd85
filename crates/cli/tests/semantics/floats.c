// Floating point: arithmetic, comparisons, conversions and printing of float, double, long double, complex.
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t bits_of(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static uint64_t bits_of_double(double d) { uint64_t u; memcpy(&u, &d, 8); return u; }
static void show_long(const char *name, long double v) {
    unsigned char bytes[16] = { 0 };
    memcpy(bytes, &v, 10);
    printf("%-20s %.21Lg", name, v);
    for (int i = 9; i >= 0; i--) printf("%s%02x", i == 9 ? " " : "", bytes[i]);
    printf("\n");
}

#define F(e) printf("%-20s %08x %.9g\n", #e, bits_of(e), (double)(e))
#define D(e) printf("%-20s %016llx %.17g\n", #e, (unsigned long long)bits_of_double(e), (double)(e))
#define L(e) show_long(#e, e)

static void compare(double a, double b) {
    printf("%g %g: %d%d%d%d%d%d %d%d%d%d%d%d\n", a, b, a < b, a <= b, a > b, a >= b, a == b, a != b, isless(a, b),
           islessequal(a, b), isgreater(a, b), isgreaterequal(a, b), islessgreater(a, b), isunordered(a, b));
    float fa = (float)a, fb = (float)b;
    printf("%d%d%d%d%d%d ", fa < fb, fa <= fb, fa > fb, fa >= fb, fa == fb, fa != fb);
    long double la = a, lb = b;
    printf("%d%d%d%d%d%d ", la < lb, la <= lb, la > lb, la >= lb, la == lb, la != lb);
    printf("%d%d%d%d\n", !(a < b), !(a == b), a && b, !a);
}

int main(void) {
    volatile float f = 1.1f, g = -3.3f, tiny = 1e-42f, zero = 0.0f;
    F(f + g); F(f - g); F(f * g); F(f / g); F(-f); F(f * tiny); F(tiny / 3); F(g / zero * 0 + 1 == 1 ? 1.0f : 2.0f); F(1 / zero);
    F(-1 / zero); F(fabsf(g)); F(f + 16777216.0f); F((float)0.1); F((float)1e40); F((float)1e-46);
    F(f += g); F(f *= f); F(f++); F(--f); F(fmodf(7.5f, g)); F(sqrtf(f)); F(fmaf(f, g, 1.5f));
    volatile double d = 0.1, e = -12345.6789, big = 1e308, dz = -0.0;
    D(d + e); D(d - e); D(d * e); D(d / e); D(-d); D(big * 10); D(-big * 10); D(DBL_MIN / 3); D(d * 3 - 0.3); D(1 / dz);
    D(fmod(e, d)); D(sqrt(2.0) * d); D(fma(d, e, 1.0)); D(copysign(d, dz)); D(floor(e)); D(ceil(e)); D(trunc(e)); D(round(e));
    D(rint(2.5)); D(nearbyint(-3.5)); D(fmin(d, e)); D(fmax(d, NAN)); D((double)f); D(nextafter(d, 1)); D(scalbn(d, 70));
    D(e += d); D(e *= -d); D(e /= 7); D(e--); D(++e);
    volatile long double l = 0.1L, m = -98765432109876543.21L;
    L(l + m); L(l - m); L(l * m); L(l / m); L(-l); L((long double)d); L((long double)f); L(LDBL_MAX); L(LDBL_MIN / 3); L(l * 3 - 0.3L);
    L(fmodl(m, l)); L(sqrtl(2.0L)); L(floorl(m)); L(fabsl(m)); L(powl(l, 7)); L((long double)UINT64_MAX); L((long double)INT64_MIN);
    L(l += 1); L(l *= l); L(m /= 3); L(l++); L(1.0L / 3); L((long double)(1.0 / 3)); L(0.0L / (l - l + 1) - 0.0L);
    D((double)l); F((float)m); D((double)1e4000L); F((float)(l / 7));

    double values[] = { 0.0, -0.0, 1.0, -1.5, INFINITY, -INFINITY, NAN, 1e-310 };
    for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j += 1 + (i & 1)) compare(values[i], values[j]);
    for (int i = 0; i < 8; i++)
        printf("%d %d %d %d %d %d\n", !!isnan(values[i]), !!isinf(values[i]), !!isfinite(values[i]), !!isnormal(values[i]), !!signbit(values[i]),
               fpclassify(values[i]) == FP_SUBNORMAL);

    volatile double from[] = { 0.99, -0.99, 127.5, -128.9, 65535.9, 2147483647.5, -2147483648.0, 4294967295.0, 9e18, -9e18 };
    for (int i = 0; i < 10; i++) {
        double x = from[i];
        if (fabs(x) < 129) printf("%d ", (int8_t)x);
        if (x > -1 && x < 256) printf("%u ", (uint8_t)x);
        if (fabs(x) < 32768) printf("%d ", (int16_t)x);
        if (x > -1 && x < 65536) printf("%u ", (uint16_t)x);
        if (x >= -2147483648.0 && x < 2147483648.0) printf("%d ", (int32_t)x);
        if (x > -1 && x < 4294967296.0) printf("%u %d ", (uint32_t)x, (_Bool)x);
        printf("%lld %lld %lld", (long long)x, (long long)(float)x, (long long)(long double)x);
        if (x > -1) printf(" %llu %llu %llu", (unsigned long long)x, (unsigned long long)(float)x, (unsigned long long)(long double)x);
        printf("\n");
    }
    volatile uint64_t ints[] = { 0, 1, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0x20000000000001, 0x8000000000000401, 16777217 };
    for (int i = 0; i < 8; i++) {
        uint64_t u = ints[i];
        F((float)u); F((float)(int64_t)u); D((double)u); D((double)(int64_t)u); F((float)(uint32_t)u); F((float)(int32_t)u);
        D((double)(uint32_t)u); D((double)(int16_t)u); L((long double)u); L((long double)(int64_t)u); L((long double)(int8_t)u);
    }

    double _Complex c = 1.5 + 2.5 * I, k = -0.5 + 3.0 * I;
    float _Complex fc = 2.0f - 1.0f * I;
    long double _Complex lc = 0.5L + 0.25L * I;
    c = c * k + fc; k = k / c;
    printf("%.15g %.15g %.15g %.15g %.9g %.9g\n", creal(c), cimag(c), creal(k), cimag(k), crealf(fc * fc), cimagf(fc / (1 + I)));
    lc = lc * lc + 1; fc = conjf(fc);
    printf("%.18Lg %.18Lg %.9g %.12g %.12g %d\n", creall(lc), cimagl(lc), cimagf(fc), cabs(c), carg(k), c == k);
    double _Complex root = csqrt(-4.0), ex = cexp(I * 1.0);
    float _Complex frt = csqrtf(fc);
    printf("%.12g %.12g %.12g %.12g %.7g %.7g\n", creal(root), cimag(root), creal(ex), cimag(ex), (double)crealf(frt), (double)cimagf(frt));

    printf("%f %.0f %10.3f|%-12.4e|%+g %a %A %#.0f %G\n", 3.14159, 2.5, e, d, 1e10, 0.1, -1.0, 3.0, 1e-10);
    printf("%Lf %.3Le %La %Lg\n", m, l, 0.1L, l);
    printf("%f %F %e %5.1f|%-8f|%08.3f\n", INFINITY, -INFINITY, (double)fabs(NAN), INFINITY, 1.0, -2.5);
    printf("%.40g %.60f\n", 0.1, 1e-20);
    printf("%.17g %.9g %.21Lg\n", strtod("0x1.8p3", NULL), (double)strtof("1e-3abc", NULL), strtold("2.71828182845904523536", NULL));
    int exponent; double whole;
    printf("%.17g %d\n", frexp(-77.7, &exponent), exponent);
    printf("%.17g %g\n", modf(-3.75, &whole), whole);
    printf("%ld %lld %ld\n", lround(-2.5), llround(1e15 + 0.5), lrint(3.5));
    printf("%d %d %.9g %.17g\n", FLT_DIG, LDBL_MANT_DIG, FLT_EPSILON, DBL_EPSILON);
    float acc = 0; double dacc = 0; long double lacc = 0;
    for (int i = 1; i < 2000; i++) { acc += 1.0f / i; dacc += 1.0 / i; lacc += 1.0L / i; }
    printf("%.9g %.17g %.21Lg\n", acc, dacc, lacc);
    return acc > 8.1f;
}
