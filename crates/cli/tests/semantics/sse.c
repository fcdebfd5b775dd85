// SSE2 intrinsics, and loops that -O1/-O2 would vectorise.
#include <emmintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void show(const char *name, __m128i v) {
    int32_t x[4];
    _mm_storeu_si128((__m128i *)x, v);
    printf("%-12s %08x %08x %08x %08x\n", name, x[0], x[1], x[2], x[3]);
}
static void show_ps(const char *name, __m128 v) {
    float x[4];
    _mm_storeu_ps(x, v);
    printf("%-12s %.9g %.9g %.9g %.9g\n", name, x[0], x[1], x[2], x[3]);
}
static void show_pd(const char *name, __m128d v) {
    double x[2];
    _mm_storeu_pd(x, v);
    printf("%-12s %.17g %.17g\n", name, x[0], x[1]);
}

int main(void) {
    volatile int s = 3;
    __m128i a = _mm_set_epi32(4, -3, 2, s), b = _mm_set1_epi32(7), c = _mm_setr_epi32(1 << 30, -1, 0x7fff8000, 42);
    show("add", _mm_add_epi32(a, b)); show("sub", _mm_sub_epi32(a, b)); show("add8", _mm_add_epi8(c, b)); show("add16", _mm_add_epi16(c, c));
    show("add64", _mm_add_epi64(c, c)); show("and", _mm_and_si128(a, c)); show("andnot", _mm_andnot_si128(a, c)); show("or", _mm_or_si128(a, b));
    show("xor", _mm_xor_si128(a, c)); show("slli", _mm_slli_epi32(c, 3)); show("srli", _mm_srli_epi32(c, 3)); show("srai", _mm_srai_epi32(c, 3));
    show("slli64", _mm_slli_epi64(c, 9)); show("cmpeq", _mm_cmpeq_epi32(a, b)); show("cmpgt", _mm_cmpgt_epi32(c, b)); show("cmplt8", _mm_cmplt_epi8(c, b));
    show("unpacklo", _mm_unpacklo_epi32(a, c)); show("unpackhi8", _mm_unpackhi_epi8(a, c)); show("shuffle", _mm_shuffle_epi32(c, _MM_SHUFFLE(0, 1, 2, 3)));
    show("shufflelo", _mm_shufflelo_epi16(c, 0x1b)); show("bslli", _mm_slli_si128(c, 5)); show("bsrli", _mm_srli_si128(c, 5));
    show("mul16", _mm_mullo_epi16(c, b)); show("min16", _mm_min_epi16(a, c)); show("max8", _mm_max_epu8(a, c)); show("mulu32", _mm_mul_epu32(a, c));
    show("insert", _mm_insert_epi16(a, s + 70, 5)); printf("%d %d\n", _mm_extract_epi16(c, 3), _mm_cvtsi128_si32(c));
    show("set", _mm_set_epi8(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)); show("zero", _mm_setzero_si128());
    printf("%lld\n", (long long)_mm_cvtsi128_si64(c));
    show("adds8", _mm_adds_epi8(c, c)); show("subsu8", _mm_subs_epu8(b, c));

    __m128 f = _mm_set_ps(4, 3.5f, -2, s), g = _mm_set1_ps(0.3f);
    show_ps("add", _mm_add_ps(f, g)); show_ps("mul", _mm_mul_ps(f, g)); show_ps("div", _mm_div_ps(f, g)); show_ps("sub", _mm_sub_ps(f, g));
    show_ps("shuffle", _mm_shuffle_ps(f, g, _MM_SHUFFLE(1, 0, 3, 2))); show_ps("unpack", _mm_unpacklo_ps(f, g)); show_ps("movehl", _mm_movehl_ps(f, g));
    show_ps("sqrt", _mm_sqrt_ps(_mm_mul_ps(f, f))); show("cvt", _mm_cvttps_epi32(f)); show_ps("cvtepi", _mm_cvtepi32_ps(c));
    show_ps("add_ss", _mm_add_ss(f, g)); printf("%.9g\n", _mm_cvtss_f32(g));
    __m128d d = _mm_set_pd(1.0 / 3, -7.5), e = _mm_set1_pd(s);
    show_pd("add", _mm_add_pd(d, e)); show_pd("div", _mm_div_pd(d, e)); show_pd("unpack", _mm_unpackhi_pd(d, e)); show_pd("sqrt", _mm_sqrt_pd(e));
    show_pd("cvtps", _mm_cvtps_pd(f)); show_pd("set_sd", _mm_set_sd(5)); printf("%.17g\n", _mm_cvtsd_f64(d));

    int x[37], y[37]; float u[29]; double w[13]; uint8_t bytes[53];
    for (int i = 0; i < 37; i++) { x[i] = i * i - 100; y[i] = 3 * i; }
    for (int i = 0; i < 37; i++) y[i] += x[i] * s;
    int sum = 0, best = x[0];
    for (int i = 0; i < 37; i++) { sum += y[i]; best = y[i] > best ? y[i] : best; }
    for (int i = 0; i < 29; i++) u[i] = i * 0.25f;
    for (int i = 0; i < 28; i++) u[i] = u[i + 1] * u[i] + s;
    for (int i = 0; i < 13; i++) w[i] = (double)x[i] / (i + 1);
    for (int i = 0; i < 53; i++) bytes[i] = (uint8_t)(i * 37);
    unsigned checksum = 0;
    for (int i = 0; i < 53; i++) checksum += bytes[i] ^ (bytes[i] >> 3);
    printf("%d %d %.9g %.17g %u\n", sum, best, u[13], w[12], checksum);
    return sum & 127;
}
