// C11 atomics and the __sync and __atomic builtins, every width, one thread.
// link: -latomic
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define SHOW(e) printf("%-50s %lld\n", #e, (long long)(e))
#define ALL(type, start)                                                                                              \
    {                                                                                                                 \
        type v = (type)(start), expected, out, in = (type)77;                                                         \
        printf("-- " #type "\n");                                                                                     \
        SHOW(__atomic_fetch_add(&v, 5, __ATOMIC_SEQ_CST)); SHOW(__atomic_add_fetch(&v, 250, __ATOMIC_RELAXED));        \
        SHOW(__atomic_fetch_sub(&v, 9, __ATOMIC_ACQUIRE)); SHOW(__atomic_sub_fetch(&v, 1, __ATOMIC_RELEASE));          \
        SHOW(__atomic_fetch_and(&v, 0x5f, __ATOMIC_ACQ_REL)); SHOW(__atomic_and_fetch(&v, 0x7e, __ATOMIC_SEQ_CST));    \
        SHOW(__atomic_fetch_or(&v, 0x81, __ATOMIC_SEQ_CST)); SHOW(__atomic_or_fetch(&v, 1, __ATOMIC_SEQ_CST));         \
        SHOW(__atomic_fetch_xor(&v, 0x33, __ATOMIC_SEQ_CST)); SHOW(__atomic_xor_fetch(&v, -1, __ATOMIC_SEQ_CST));      \
        SHOW(__atomic_fetch_nand(&v, 0x0f, __ATOMIC_SEQ_CST)); SHOW(__atomic_nand_fetch(&v, 0xf1, __ATOMIC_SEQ_CST));  \
        SHOW(__atomic_fetch_max(&v, 40, __ATOMIC_SEQ_CST)); SHOW(__atomic_fetch_min(&v, (type)-3, __ATOMIC_SEQ_CST));  \
        SHOW(__atomic_max_fetch(&v, 90, __ATOMIC_SEQ_CST)); SHOW(__atomic_min_fetch(&v, 60, __ATOMIC_SEQ_CST));        \
        SHOW(__atomic_exchange_n(&v, 12, __ATOMIC_SEQ_CST)); SHOW(__atomic_load_n(&v, __ATOMIC_SEQ_CST));              \
        __atomic_store_n(&v, 99, __ATOMIC_SEQ_CST); SHOW(v);                                                          \
        __atomic_exchange(&v, &in, &out, __ATOMIC_SEQ_CST); SHOW(out); SHOW(v); in = 3;                                \
        __atomic_store(&v, &in, __ATOMIC_SEQ_CST); __atomic_load(&v, &out, __ATOMIC_SEQ_CST); SHOW(out);               \
        expected = 4; SHOW(__atomic_compare_exchange_n(&v, &expected, 8, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)); SHOW(expected); SHOW(v); \
        SHOW(__atomic_compare_exchange_n(&v, &expected, 8, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)); SHOW(expected); SHOW(v); \
        SHOW(__sync_fetch_and_add(&v, 3)); SHOW(__sync_add_and_fetch(&v, 3)); SHOW(__sync_fetch_and_sub(&v, 20));      \
        SHOW(__sync_fetch_and_nand(&v, 6)); SHOW(__sync_bool_compare_and_swap(&v, v, 70)); SHOW(__sync_val_compare_and_swap(&v, 1, 2)); \
        SHOW(__sync_val_compare_and_swap(&v, 70, 2)); SHOW(__sync_lock_test_and_set(&v, 1)); __sync_lock_release(&v); SHOW(v); \
        __sync_synchronize();                                                                                         \
    }

struct pair { int a, b; };
struct triple { int v[3]; };
struct big { long v[4]; };

int main(void) {
    ALL(int8_t, 100) ALL(uint8_t, 200) ALL(int16_t, 30000) ALL(uint16_t, 60000) ALL(int32_t, 2147483640) ALL(uint32_t, 4000000000u)
    ALL(int64_t, INT64_MAX - 3) ALL(uint64_t, UINT64_MAX - 3) ALL(__int128, ((__int128)1 << 100) + 5) ALL(unsigned __int128, -4)
    __int128 wide = ((__int128)1 << 64) - 1;
    __atomic_fetch_add(&wide, 1, __ATOMIC_SEQ_CST); SHOW(wide >> 64); SHOW(wide);
    __int128 expected = (__int128)1 << 64;
    SHOW(__atomic_compare_exchange_n(&wide, &expected, (__int128)7 << 65, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); SHOW(wide >> 64);

    _Atomic int a = 5; atomic_uint u = 7; atomic_bool flag = 0; _Atomic double d = 1.5; _Atomic float f = 0.25f; _Atomic(int *) p; int cells[4] = { 10, 20, 30, 40 };
    a++; ++a; a -= 3; a *= 5; a <<= 2; a |= 1; a ^= 0x10; a /= 3; a %= 20; SHOW(a); SHOW(a--); SHOW(a);
    d += 2.25; d *= 3; d /= 2; f -= 1; f++; printf("%g %g\n", (double)d, (double)f);
    atomic_store(&p, cells); p++; SHOW(*p); SHOW(*atomic_fetch_add(&p, 2)); SHOW(*atomic_load(&p)); p--; SHOW(*p);
    SHOW(atomic_fetch_add(&u, 3)); SHOW(atomic_fetch_sub_explicit(&u, 1, memory_order_relaxed)); SHOW(atomic_fetch_or(&u, 0x30)); SHOW(atomic_exchange(&u, 2)); SHOW(atomic_load_explicit(&u, memory_order_acquire));
    int want = 3; SHOW(atomic_compare_exchange_strong(&a, &want, 9)); SHOW(want); SHOW(atomic_compare_exchange_weak(&a, &want, 9)); SHOW(a);
    SHOW(atomic_exchange(&flag, 1)); SHOW(flag); flag = 0; SHOW(atomic_fetch_or(&flag, 1));
    atomic_flag once = ATOMIC_FLAG_INIT; SHOW(atomic_flag_test_and_set(&once)); SHOW(atomic_flag_test_and_set(&once)); atomic_flag_clear(&once); SHOW(atomic_flag_test_and_set(&once));
    atomic_thread_fence(memory_order_seq_cst); atomic_signal_fence(memory_order_acquire);
    _Atomic struct pair pair = (struct pair){ 1, 2 }; struct pair q = atomic_load(&pair); q.b = 50; struct pair old = atomic_exchange(&pair, q); SHOW(old.b); q = pair; SHOW(q.b);
    struct pair guess = { 0, 0 }; SHOW(atomic_compare_exchange_strong(&pair, &guess, old)); SHOW(guess.b); SHOW(atomic_compare_exchange_strong(&pair, &guess, old)); q = pair; SHOW(q.b);
    _Atomic struct big big = (struct big){ { 1, 2, 3, 4 } }; struct big copy = atomic_load(&big); copy.v[3] = 44; atomic_store(&big, copy); copy.v[3] = 0; copy = atomic_exchange(&big, copy); SHOW(copy.v[3]);
    _Atomic struct triple triple = (struct triple){ { 7, 8, 9 } }; struct triple t = triple; t.v[1] = -1; t = atomic_exchange(&triple, t); SHOW(t.v[1]); t = triple; SHOW(t.v[1]); SHOW(t.v[2]);
    _Atomic long double ld = 1.25L; ld += 1; printf("%Lg\n", (long double)ld);
    SHOW(atomic_is_lock_free(&a)); SHOW(__atomic_always_lock_free(8, 0)); SHOW(sizeof pair); SHOW(sizeof triple); SHOW(sizeof(_Atomic struct triple));
    SHOW(__atomic_test_and_set(&flag, __ATOMIC_SEQ_CST)); __atomic_clear(&flag, __ATOMIC_SEQ_CST); SHOW(flag);
    volatile _Atomic char c = 'a'; c += 1; SHOW(c); _Atomic short s = -1; s >>= 1; SHOW(s); _Atomic unsigned long long ull = 1; ull <<= 40; SHOW(ull);
    return a;
}
