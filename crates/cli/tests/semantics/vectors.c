// The vector extensions of clang and gcc.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int8_t i8x16 __attribute__((vector_size(16)));
typedef uint8_t u8x8 __attribute__((vector_size(8)));
typedef int16_t i16x8 __attribute__((vector_size(16)));
typedef int32_t i32x4 __attribute__((vector_size(16)));
typedef uint32_t u32x4 __attribute__((vector_size(16)));
typedef int64_t i64x2 __attribute__((vector_size(16)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef double f64x2 __attribute__((vector_size(16)));
typedef int32_t i32x8 __attribute__((vector_size(32)));
typedef double f64x4 __attribute__((vector_size(32)));
typedef float f32x2 __attribute__((vector_size(8)));
typedef int32_t i32x3 __attribute__((ext_vector_type(3)));
typedef float f32x3 __attribute__((ext_vector_type(3)));
typedef _Bool b8 __attribute__((ext_vector_type(8)));

#define SHOW(v) do { __typeof__(v) v_ = (v); printf("%-24s", #v); \
    for (size_t i_ = 0; i_ < sizeof v_ / sizeof v_[0]; i_++) printf(" %lld", (long long)v_[i_]); printf("\n"); } while (0)
#define SHOWF(v) do { __typeof__(v) v_ = (v); printf("%-24s", #v); \
    for (size_t i_ = 0; i_ < sizeof v_ / sizeof v_[0]; i_++) printf(" %.9g", (double)v_[i_]); printf("\n"); } while (0)

static __attribute__((noinline)) i32x4 twice(i32x4 v) { return v + v; }
static __attribute__((noinline)) f64x2 mixed(f64x2 a, float s, f32x4 b, int n) { return a * s + (f64x2){ b[n], b[n + 1] }; }
static __attribute__((noinline)) u8x8 small(u8x8 v) { return v << 1; }
static __attribute__((noinline)) f32x2 pair(f32x2 v) { return v * v; }

struct holder { char tag; i32x4 v; f32x2 w; };
static struct holder global = { 'g', { 1, 2, 3, 4 }, { 0.5f, 1.5f } };
static i16x8 constants[2] = { { 1, -1, 2, -2, 3, -3, 4, -4 }, { 100 } };

int main(void) {
    volatile int seed = 3;
    i32x4 a = { seed, -7, 1000000, 2147483647 }, b = { 2, 3, -4, 5 };
    SHOW(a + b); SHOW(a - b); SHOW(a * b); SHOW(a / b); SHOW(a % b); SHOW(a & b); SHOW(a | b); SHOW(a ^ b); SHOW(~a); SHOW(-a);
    SHOW(a << (b & 3)); SHOW(a >> (b & 3)); SHOW((u32x4)a >> 2); SHOW(a < b); SHOW(a >= b); SHOW(a == a); SHOW(a != b); SHOW(a + 5);
    SHOW((a & (a > b)) | (b & ~(a > b))); SHOW(twice(a));
    i8x16 c = { 1, 2, 3, 4, 5, 6, 7, 8, 120, 121, 122, 123, -124, -125, -126, -127 };
    SHOW(c + c); SHOW(c * 3); SHOW(c >> 1); SHOW(c / 3); SHOW(c == 3); SHOW((c < 0) & 1); SHOW(c << 2);
    u8x8 d = { 250, 251, 252, 253, 0, 1, 2, 3 };
    SHOW(d + d); SHOW(d >> 1); SHOW(d * d); SHOW(small(d)); SHOW(d > 200);
    i16x8 e = constants[0] * 1000; SHOW(e); SHOW(e * e); SHOW(e > 0); SHOW(e / 7); SHOW(constants[1] - e);
    i64x2 f = { 1LL << 40, -5 }; SHOW(f * f); SHOW(f << 3); SHOW(f >> 1); SHOW(f / 3); SHOW(f < 0);
    f32x4 g = { 1.5f, -2.25f, 1e10f, 0.1f }, h = { 2, 3, 4, 5 };
    SHOWF(g + h); SHOWF(g * h); SHOWF(g / h); SHOWF(-g); SHOW(g < h); SHOW(g == g); SHOWF(g * 2.0f);
    f64x2 k = { 1.0 / 3, -1e300 }; SHOWF(k * k); SHOWF(k / 7.0); SHOW(k > 0); SHOWF(mixed(k, 0.5f, g, 1)); SHOWF(pair((f32x2){ 3, 0.5f }));
    i32x8 wide = { 1, 2, 3, 4, 5, 6, 7, seed }; SHOW(wide * wide); SHOW(wide << 4); SHOW(wide % 3 == 0);
    f64x4 fw = { 1, 2, 3, 4 }; SHOWF(fw / (fw + 1));
    SHOW(__builtin_shufflevector(a, b, 7, 0, 5, 2)); SHOW(__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7));
    SHOW(__builtin_shufflevector(c, c, 1, 0, 3, 2)); SHOWF(__builtin_shufflevector(g, g, 3, 2));
    SHOWF(__builtin_convertvector(a, f32x4)); SHOW(__builtin_convertvector(h, i32x4)); SHOW(__builtin_convertvector(d, i16x8));
    SHOW(__builtin_convertvector(e, u8x8)); SHOWF(__builtin_convertvector((f32x2){ 1.5f, 2.5f }, f64x2)); SHOW(__builtin_convertvector(f, f64x2) > 0);
    SHOW((i8x16)a); SHOW((i64x2)g); SHOW((i16x8)k);
    for (int i = 0; i < 4; i++) { a[i] = i * seed; b[3 - i] += a[i]; }
    SHOW(a); SHOW(b);
    c[seed + 2] = 99; d[seed] ^= 0xff; SHOW(c); SHOW(d);
    i32x3 three = { 1, 2, seed }; three = three * three + 1; printf("%d %d %d ", three.z, three.y, three.x); SHOW(three.zx); three.yz = three.xy; printf("%d %d %d\n", three.x, three.y, three.z);
    f32x3 f3 = { 0.5f, 1.5f, 2.5f }; f3 *= 3; printf("%g %g %g %zu\n", f3.x, f3.y, f3.z, sizeof f3);
    SHOW(__builtin_elementwise_max(a, b)); SHOW(__builtin_elementwise_min(a, b)); SHOW(__builtin_elementwise_abs(-a)); SHOWF(__builtin_elementwise_floor(g));
    printf("%d %d %d %d %d\n", __builtin_reduce_add(a), __builtin_reduce_max(b), __builtin_reduce_min(b), __builtin_reduce_xor(a), __builtin_reduce_and(b));
    printf("%d %d %d\n", __builtin_reduce_mul(b), __builtin_reduce_or(b), (int)__builtin_reduce_add(constants[0]));
    SHOW(__builtin_elementwise_add_sat(c, c)); SHOW(__builtin_elementwise_sub_sat(d, d + 1)); SHOW(__builtin_elementwise_bitreverse(a));
    b8 flags = { 1, 0, 1, 1, 0, 0, 1, seed & 1 }; b8 other = !flags; other[0] = 1;
    for (int i = 0; i < 8; i++) printf("%d%d ", flags[i], (flags & other)[i]);
    printf("%zu\n", sizeof flags);
    global.v += a; global.w /= 3;
    struct holder copy = global;
    SHOW(copy.v); SHOWF(copy.w); printf("%c %zu\n", copy.tag, sizeof copy);
    f32x4 sum = { 0 };
    for (int i = 0; i < 100; i++) sum += (f32x4){ i, i * 0.5f, 1.0f / (i + 1), -i };
    SHOWF(sum);
    int8_t buffer[32];
    memset(buffer, 7, sizeof buffer);
    memcpy(buffer + 1, &a, sizeof a);
    memcpy(buffer + 3, &b, sizeof b);
    unsigned total = 0;
    for (int i = 0; i < 32; i++) total = total * 31 + (unsigned)buffer[i];
    printf("%u\n", total);
    return 0;
}
