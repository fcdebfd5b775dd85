// Mathematical functions of the three floating types.
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>

#define ONE(fn) do { printf("%-8s", #fn); for (int i = 0; i < 6; i++) printf(" %.17g", (double)(fn)(x[i])); \
    for (int i = 0; i < 6; i++) printf(" %.9g", (double)(fn##f)((float)x[i])); for (int i = 0; i < 6; i++) printf(" %.20Lg", (fn##l)((long double)x[i])); printf("\n"); } while (0)
#define TWO(fn) do { printf("%-8s", #fn); for (int i = 0; i < 5; i++) printf(" %.17g", (double)(fn)(x[i], x[i + 1])); \
    for (int i = 0; i < 5; i++) printf(" %.9g", (double)(fn##f)((float)x[i], (float)x[i + 1])); for (int i = 0; i < 5; i++) printf(" %.20Lg", (fn##l)(x[i], x[i + 1])); printf("\n"); } while (0)

int main(void) {
    volatile double x[6] = { 0.5, 0.9, 0.123456789, 1.0, 0.7071, 0.0001 };
    ONE(sin); ONE(cos); ONE(tan); ONE(asin); ONE(acos); ONE(atan); ONE(sinh); ONE(cosh); ONE(tanh); ONE(asinh); ONE(atanh); ONE(exp); ONE(exp2); ONE(expm1); ONE(log); ONE(log2);
    ONE(log10); ONE(log1p); ONE(sqrt); ONE(cbrt); ONE(erf); ONE(erfc); ONE(tgamma); ONE(lgamma); ONE(fabs); ONE(floor); ONE(ceil); ONE(trunc); ONE(round); ONE(rint); ONE(nearbyint); ONE(logb); ONE(exp10); ONE(j0);
    TWO(pow); TWO(atan2); TWO(fmod); TWO(hypot); TWO(fmin); TWO(fmax); TWO(fdim); TWO(copysign); TWO(remainder); TWO(nextafter);
    x[0] = -2.5; x[1] = 3.5; x[2] = -0.5; x[3] = 1e10; x[4] = -7.25; x[5] = 100.75;
    ONE(floor); ONE(ceil); ONE(trunc); ONE(round); ONE(rint); ONE(nearbyint); ONE(roundeven); ONE(fabs); ONE(cbrt); ONE(sin); ONE(exp); TWO(fmod); TWO(remainder); TWO(fmin); TWO(copysign);
    for (int i = 0; i < 6; i++) printf("%ld %lld %ld %lld %d %ld %ld %ld\n", lround(x[i]), llround(x[i]), lrint(x[i]), llrintf((float)x[i]), ilogb(x[i]), lroundl(x[i]), lroundf((float)x[i]), lrintl(x[i]));
    int e, q; double whole; float fwhole; long double lwhole;
    printf("%.17g %d %.9g %d %.20Lg %d\n", frexp(x[5], &e), e, frexpf(12.5f, &q), q, frexpl(1e300L, &e), e);
    printf("%.17g %g %.9g %g %.20Lg %Lg\n", modf(x[4], &whole), whole, modff(2.75f, &fwhole), fwhole, modfl(-9.5L, &lwhole), lwhole);
    printf("%.17g %.17g %.20Lg %.17g\n", ldexp(0.75, 10), scalbn(3.0, -5), ldexpl(1.5L, 100), scalbln(1.25, 3L));
    printf("%.17g %.9g %.20Lg\n", fma(x[0], x[1], x[2]), fmaf(1.1f, 1.1f, -1.21f), fmal(1.1L, 1.1L, -1.21L));
    printf("%.25g\n", fma(1.0 + 0x1p-30, 1.0 - 0x1p-30, -1.0));
    double s, c; sincos(1.25, &s, &c); printf("%.17g %.17g\n", s, c); printf("%.17g %d\n", remquo(29.0, 3.0, &q), q & 7);
    printf("%d %d %d %d %d %d\n", !!isnan(sqrt(-1.0 - x[5])), !!isinf(log(x[5] - x[5])), signbit(-0.0) != 0, isnormal(1e-310) != 0, fpclassify(INFINITY) == FP_INFINITE, !!isnan(fmod(1, x[5] - x[5])));
    printf("%d %d %d %d\n", !!isnan((float)x[0] * NAN), !!isinf((long double)x[0] * INFINITY), isfinite(1.0L) != 0, signbit((long double)x[0]) != 0);
    printf("%d %d %d\n", isnormal((long double)x[0]) != 0, fpclassify(0.0L) == FP_ZERO, fpclassify(NAN * 1.0L) == FP_NAN);
    printf("%.17g %.17g %g %g\n", nan("") == nan("") ? 1.0 : 2.0, HUGE_VAL, fmax(NAN, 3), fmin(-0.0, 0.0) + 1);
    printf("%.17g %.9g %.20Lg\n", pow(2, 0.5), powf(2.0f, 0.5f), powl(2.0L, 0.5L));
    printf("%.17g %.17g %.17g\n", pow(-2.0, 3.0), pow(10, -5), pow(0, 0));
    printf("%.17g %.17g %d\n", drem(7.5, 2), significand(40.0), finite(1.0));
    double complex z = 3 + 4 * I; printf("%.15g %.15g %.15g %.15g\n", cabs(z), creal(cpow(z, 2)), cimag(clog(z)), creal(csin(z)));
    feclearexcept(FE_ALL_EXCEPT); volatile double zero = 0, one = 1; volatile double infinite = one / zero; printf("%d %d %g\n", !!fetestexcept(FE_DIVBYZERO), fegetround() == FE_TONEAREST, infinite);
    double dot = 0; float fdot = 0; for (int i = 0; i < 100; i++) { dot += sin(i) * cos(i * 0.5); fdot += sinf(i) * sqrtf(i); } printf("%.17g %.9g\n", dot, fdot);
    double m[4][4], inverse = 1; for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) m[i][j] = 1.0 / (i + j + 1); for (int k = 0; k < 4; k++) { inverse *= m[k][k]; for (int i = k + 1; i < 4; i++) { double f = m[i][k] / m[k][k]; for (int j = k; j < 4; j++) m[i][j] -= f * m[k][j]; } } printf("%.17g\n", inverse);
    printf("%d %d %ld\n", abs(-5), (int)labs(-6L), (long)llabs(-7LL));
    return (int)floor(sqrt(17.0));
}
