// Integer arithmetic of every width: wrapping, signs, shifts, casts, overflow, bit counting.
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SHOW(value) printf("%-28s %" PRId64 "\n", #value, (int64_t)(value))
#define SHOWU(value) printf("%-28s %" PRIx64 "\n", #value, (uint64_t)(value))

static void wide(const char *name, unsigned __int128 value) {
    printf("%-28s %016" PRIx64 "%016" PRIx64 "\n", name, (uint64_t)(value >> 64), (uint64_t)value);
}
#define WIDE(value) wide(#value, (unsigned __int128)(value))

#define WIDTH(type, utype, bits)                                                              \
    static void width_##bits(void) {                                                          \
        volatile type a = (type)0x8182838485868788, b = 7, m = (type)-3, z = 0;                \
        volatile utype ua = (utype)a, ub = 5, top = (utype)((utype)1 << (bits - 1));           \
        printf("-- " #type "\n");                                                             \
        SHOW((type)(a + b)); SHOW((type)(a - b)); SHOW((type)(a * b));                         \
        SHOW((type)(a / b)); SHOW((type)(a % b)); SHOW((type)(a / m)); SHOW((type)(a % m));    \
        SHOW((type)(b / m)); SHOW((type)(b % m)); SHOW((type)(m / b)); SHOW((type)(m % b));    \
        SHOWU((utype)(ua + ub)); SHOWU((utype)(ua * ub)); SHOWU((utype)(ua / ub));             \
        SHOWU((utype)(ua % ub)); SHOWU((utype)(ub - ua));                                      \
        SHOWU((utype)(ua << 3)); SHOWU((utype)(ua >> 3)); SHOW((type)(a >> 3));                \
        SHOW((type)(m >> 1)); SHOWU((utype)(ua << (bits - 1))); SHOWU((utype)(ua >> (bits - 1)));\
        SHOW((type)(a >> (bits - 1))); SHOWU((utype)~ua); SHOWU((utype)(ua & ub));             \
        SHOWU((utype)(ua | ub)); SHOWU((utype)(ua ^ ub)); SHOW((type)-a);                      \
        SHOW(a < b); SHOW(a > b); SHOW(ua < ub); SHOW(ua > ub); SHOW(a <= a); SHOW(ua >= ua);  \
        SHOW(a == b); SHOW(a != b); SHOW(!a); SHOW(!z); SHOW(m < z); SHOW((utype)m < (utype)z);\
        SHOW((int8_t)a); SHOW((uint8_t)a); SHOW((int16_t)a); SHOW((uint16_t)a);                \
        SHOW((int32_t)a); SHOW((uint32_t)a); SHOW((int64_t)a); SHOWU((uint64_t)a);             \
        SHOW((int8_t)ua); SHOW((int64_t)ua); SHOW((bool)a); SHOW((bool)z);                     \
        WIDE((__int128)a); WIDE((__int128)ua);                                                 \
        type r; utype ur;                                                                     \
        SHOW(__builtin_add_overflow(a, m, &r)); SHOW(r);                                       \
        SHOW(__builtin_sub_overflow(a, b, &r)); SHOW(r);                                       \
        SHOW(__builtin_mul_overflow(a, b, &r)); SHOW(r);                                       \
        SHOW(__builtin_mul_overflow(b, m, &r)); SHOW(r);                                       \
        SHOW(__builtin_add_overflow(ua, ua, &ur)); SHOWU(ur);                                  \
        SHOW(__builtin_sub_overflow(ub, ua, &ur)); SHOWU(ur);                                  \
        SHOW(__builtin_mul_overflow(ua, ub, &ur)); SHOWU(ur);                                  \
        SHOW(__builtin_add_overflow(top, top, &ur)); SHOWU(ur);                                \
        a += 3; SHOW(a); a -= 9; SHOW(a); a *= 3; SHOW(a); a /= 5; SHOW(a); a %= 11; SHOW(a);   \
        a <<= 2; SHOW(a); a ^= m; SHOW(a); a >>= 1; SHOW(a); SHOW(a++); SHOW(++a); SHOW(a--);   \
    }

WIDTH(int8_t, uint8_t, 8)
WIDTH(int16_t, uint16_t, 16)
WIDTH(int32_t, uint32_t, 32)
WIDTH(int64_t, uint64_t, 64)

static void width_128(void) {
    volatile __int128 a = ((__int128)0x8182838485868788 << 64) | 0x1122334455667788, b = 1234567891011, m = -3;
    volatile unsigned __int128 ua = (unsigned __int128)a, ub = ((unsigned __int128)7 << 66) + 5;
    volatile int by = 77, small = 3;
    printf("-- __int128\n");
    WIDE(a + b); WIDE(a - b); WIDE(a * b); WIDE(a / b); WIDE(a % b); WIDE(a / m); WIDE(a % m); WIDE(m / b);
    WIDE(b * m); WIDE(m % b); WIDE(ua / ub); WIDE(ua % ub); WIDE(ua * ub); WIDE(ub - ua); WIDE(-a); WIDE(~ua);
    WIDE(a << small); WIDE(a >> small); WIDE(ua >> small); WIDE(a << by); WIDE(a >> by); WIDE(ua >> by);
    WIDE(a >> 127); WIDE(ua >> 127); WIDE(a & b); WIDE(a | b); WIDE(a ^ b);
    SHOW(a < b); SHOW(ua < ub); SHOW(a == b); SHOW(m < b); SHOW(ua >= ub); SHOW(m > a);
    SHOW((int8_t)a); SHOW((int64_t)(a >> 64)); SHOWU((uint64_t)a); SHOW((bool)a);
    __int128 r;
    unsigned __int128 ur;
    SHOW(__builtin_add_overflow(a, a, &r)); WIDE(r);
    SHOW(__builtin_sub_overflow(a, b, &r)); WIDE(r);
    SHOW(__builtin_mul_overflow(b, m, &r)); WIDE(r);
    SHOW(__builtin_mul_overflow(ua, ub, &ur)); WIDE(ur);
    SHOW(__builtin_add_overflow(ua, ua, &ur)); WIDE(ur);
    a += b; a -= 3; a *= 7; WIDE(a); a /= 13; WIDE(a); a++; WIDE(a);
    printf("%.17g %.17g %.9g\n", (double)a, (double)ua, (float)m);
    printf("%.17g\n", (double)(unsigned __int128)-1);
    volatile double d = -1.5e30, e = 3.3e38;
    WIDE((__int128)d); WIDE((unsigned __int128)e);
    volatile long double l = 1.25e37L;
    WIDE((__int128)l); WIDE((unsigned __int128)l);
    printf("%.20Lg %.20Lg\n", (long double)a, (long double)ua);
}

static void odd_widths(void) {
    volatile _BitInt(7) a = -60;
    volatile unsigned _BitInt(7) u = 100;
    volatile _BitInt(17) b = 65535;
    volatile unsigned _BitInt(33) c = ((unsigned _BitInt(33))1 << 32) + 17;
    volatile _BitInt(48) d = -((_BitInt(48))1 << 46);
    volatile _BitInt(65) e = ((_BitInt(65))1 << 63) + 11;
    volatile _BitInt(100) f = -(((_BitInt(100))1 << 90) + 12345);
    volatile unsigned _BitInt(100) g = ((unsigned _BitInt(100))3 << 98) + 99;
    printf("-- _BitInt\n");
    SHOW((_BitInt(7))(a + u)); SHOW((unsigned _BitInt(7))(u + u)); SHOW((_BitInt(7))(a * 3)); SHOW(a >> 2);
    SHOW(a / 7); SHOW(a % 7); SHOW(u >> 3); SHOW((_BitInt(7))u); SHOW((unsigned _BitInt(7))a);
    SHOW((_BitInt(17))(b + b)); SHOW(b * b); SHOW(b / 7); SHOW((_BitInt(17))(b + 1)); SHOW(-b);
    SHOW(c); SHOW((unsigned _BitInt(33))(c * c)); SHOW((unsigned _BitInt(33))(c << 1)); SHOW(c >> 5); SHOW(c / 3);
    SHOW(d); SHOW(d >> 3); SHOW(d / 1000); SHOW((_BitInt(48))(d * 4)); SHOW((int)(d >> 40));
    WIDE(e); WIDE(e * 2); WIDE((_BitInt(65))(e + e)); WIDE(e / 3); WIDE(-e); WIDE(e >> 60);
    WIDE(f); WIDE(f / 77); WIDE(f % 77); WIDE(f >> 50); WIDE((_BitInt(100))(f * f)); WIDE(f - 1);
    WIDE(g); WIDE(g / 1234567); WIDE((unsigned _BitInt(100))(g << 3)); WIDE(g >> 98); WIDE(~g);
    SHOW(f < 0); SHOW(g > 5); SHOW(a < b); SHOW((int)a == -60);
    _BitInt(100) table[3] = { 1, -2, f };
    for (int i = 0; i < 3; i++) WIDE(table[i] * 5);
    printf("%zu %zu %zu %zu\n", sizeof a, sizeof b, sizeof c, sizeof f);
    printf("%.17g %.17g %.17g\n", (double)f, (double)c, (double)a);
}

static void counting(void) {
    volatile uint32_t x = 0x00f0a500;
    volatile uint64_t y = 0x0000deadbeef0000;
    volatile unsigned __int128 z = ((unsigned __int128)0x00ff << 64) | 0xf0;
    printf("-- bits\n");
    SHOW(__builtin_popcount(x)); SHOW(__builtin_popcountll(y)); SHOW(__builtin_clz(x)); SHOW(__builtin_clzll(y));
    SHOW(__builtin_ctz(x)); SHOW(__builtin_ctzll(y)); SHOW(__builtin_ffs(x)); SHOW(__builtin_ffsll(y));
    SHOW(__builtin_parity(x)); SHOW(__builtin_parityll(y)); SHOW(__builtin_clrsb(x)); SHOW(__builtin_clrsbll(y));
    SHOWU(__builtin_bswap16(0x1234)); SHOWU(__builtin_bswap32(x)); SHOWU(__builtin_bswap64(y));
    SHOWU(__builtin_bitreverse8(0x13)); SHOWU(__builtin_bitreverse16(0x1234)); SHOWU(__builtin_bitreverse32(x));
    SHOWU(__builtin_bitreverse64(y)); SHOWU(__builtin_rotateleft32(x, 7)); SHOWU(__builtin_rotateright32(x, 7));
    SHOWU(__builtin_rotateleft64(y, 37)); SHOWU(__builtin_rotateright64(y, 37)); SHOWU(__builtin_rotateleft8(0x81, 1));
    SHOWU(__builtin_rotateright16(0x8001, 3)); SHOW(__builtin_popcountg(z)); SHOW(__builtin_clzg(z)); SHOW(__builtin_ctzg(z));
    for (int n = 0; n < 64; n += 9) { SHOWU(y << n); SHOWU(y >> n); SHOWU((y << n) | (y >> ((64 - n) & 63))); }
    for (int n = 0; n < 32; n += 5) { SHOWU(x << n); SHOWU(x >> n); SHOW((int32_t)x >> n); }
    SHOW(__builtin_abs(-5)); SHOW(__builtin_llabs(INT64_MIN + 1));
    SHOW(INT_MIN / 2); SHOW(INT_MIN % 10); SHOWU(UINT_MAX / 10); SHOW(LLONG_MIN / 3);
    SHOW(__builtin_elementwise_max(3, -7)); SHOW(__builtin_elementwise_min(3u, 7u)); SHOW(__builtin_elementwise_abs(-9));
    SHOW(__builtin_elementwise_add_sat((int8_t)100, (int8_t)100)); SHOW(__builtin_elementwise_sub_sat((uint8_t)3, (uint8_t)9));
    SHOW(__builtin_elementwise_add_sat(INT_MAX, 5)); SHOW(__builtin_elementwise_sub_sat(INT64_MIN, (int64_t)5));
}

static bool truth(int x) { return x; }
static unsigned char byte(int x) { return (unsigned char)x; }
static signed char sbyte(int x) { return (signed char)x; }
static short word(long x) { return (short)x; }

int main(void) {
    width_8(); width_16(); width_32(); width_64(); width_128(); odd_widths(); counting();
    SHOW(truth(256)); SHOW(truth(0)); SHOW(byte(-1)); SHOW(sbyte(200)); SHOW(word(0x12348765));
    char c = 'a';
    c += 200;
    SHOW(c); SHOW('\377'); SHOW((unsigned char)c); SHOW(-1 < 0u); SHOW((short)0x8000); SHOW(1 ? -1 : 0u);
    uint8_t narrow = 250;
    narrow += 10; SHOW(narrow); SHOW(narrow - 11); SHOW((uint8_t)(narrow - 11)); SHOW(narrow << 30);
    SHOW((int)3.99 + (int)-3.99); SHOW((unsigned)4e9); SHOW((int64_t)-9.2e18); SHOWU((uint64_t)1.8e19);
    return (int)(c & 63);
}
