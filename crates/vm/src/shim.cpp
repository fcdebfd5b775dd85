// The few things that need the C++ runtime or the C compiler: catching what native code throws,
// matching exception types, long doubles, and telling the arena's memory from the C library's in free().
#include <cstddef>
#include <cstdint>
#include <cxxabi.h>
#include <exception>
#include <ffi.h>
#include <typeinfo>

namespace {

// libstdc++'s exception header, which the thrown object follows (Itanium C++ ABI).
struct Header {
    std::type_info *type;
    void (*destructor)(void *);
    void *unexpected_handler;
    void *terminate_handler;
    void *next;
    int handler_count;
    int handler_switch;
    const void *action_record;
    const void *language_data;
    void *catch_temp;
    void *adjusted;
    unsigned char unwind[32] __attribute__((aligned(16)));
};

struct Globals {
    void *caught;
    unsigned uncaught;
};

Header *header_of(void *object) { return reinterpret_cast<Header *>(static_cast<char *>(object) - sizeof(Header)); }

Globals *globals() { return reinterpret_cast<Globals *>(abi::__cxa_get_globals()); }

// Exceptions caught from native code are kept alive until the program is done with them.
constexpr int kept_limit = 64;
std::exception_ptr kept[kept_limit];
int kept_next;

} // namespace

extern "C" {

void *__cxa_init_primary_exception(void *, std::type_info *, void (*)(void *)) noexcept;

int unravel_call(ffi_cif *cif, void (*function)(void), void *result, void **args, void *thrown[2]) {
    try {
        ffi_call(cif, function, result, args);
        return 0;
    } catch (...) {
        std::exception_ptr pointer = std::current_exception();
        thrown[0] = *reinterpret_cast<void **>(&pointer);
        thrown[1] = abi::__cxa_current_exception_type();
        kept[kept_next++ % kept_limit] = pointer;
        return 1;
    }
}

void *unravel_exception_globals() { return abi::__cxa_get_globals(); }

void unravel_exception_init(void *object, std::type_info *type, void (*destructor)(void *)) {
    __cxa_init_primary_exception(object, type, destructor);
    // One reference, as __cxa_throw would set it; the count lies before the header.
    *reinterpret_cast<int *>(static_cast<char *>(object) - sizeof(Header) - 16) = 1;
    header_of(object)->adjusted = object;
    globals()->uncaught++;
}

void unravel_exception_again() { globals()->uncaught++; }

void *unravel_exception_begin(void *object) {
    void *adjusted = header_of(object)->adjusted;
    abi::__cxa_begin_catch(static_cast<char *>(object) - 32);
    header_of(object)->adjusted = adjusted;
    return adjusted;
}

// The unwinder's own header is what landing pads receive natively; ours receive the object.
void *unravel_exception_type(void *object) { return header_of(object)->type; }
void unravel_exception_set_adjusted(void *object, void *adjusted) { header_of(object)->adjusted = adjusted; }
void *unravel_exception_adjusted(void *object) { return header_of(object)->adjusted; }
void *unravel_exception_from_unwind(void *unwind) { return static_cast<char *>(unwind) + 32; }

// Whether a handler for `wanted` takes an exception of type `thrown`; adjusts the pointer to the base.
int unravel_exception_matches(const std::type_info *wanted, const std::type_info *thrown, void **object) {
    if (*wanted == *thrown) {
        return 1;
    }
    // type_info::__do_catch is virtual and protected; a pointer is dereferenced first, as the runtime does.
    struct Catcher : std::type_info {
        static bool ask(const std::type_info *wanted, const std::type_info *thrown, void **object) {
            using DoCatch = bool (*)(const std::type_info *, const std::type_info *, void **, unsigned);
            void **table = *reinterpret_cast<void **const *>(wanted);
            return reinterpret_cast<DoCatch>(table[4])(wanted, thrown, object, 1);
        }
    };
    if (thrown->__is_pointer_p()) {
        *object = **reinterpret_cast<void ***>(object);
    }
    return Catcher::ask(wanted, thrown, object);
}

void *__libc_malloc(size_t);
void __libc_free(void *);
void *__libc_realloc(void *, size_t);
int unravel_owns(const void *);
void unravel_free(void *);
void *unravel_realloc(void *, size_t);

// Libraries free what the program allocated, and the other way round: the address tells whose it is.
void free(void *pointer) {
    if (__builtin_expect(unravel_owns(pointer), 0)) {
        unravel_free(pointer);
    } else {
        __libc_free(pointer);
    }
}

void *realloc(void *pointer, size_t size) {
    return __builtin_expect(unravel_owns(pointer), 0) ? unravel_realloc(pointer, size)
                                                      : __libc_realloc(pointer, size);
}

void unravel_f80_binary(int op, long double *result, const long double *a, const long double *b) {
    long double value = 0;
    switch (op) {
    case 0: value = *a + *b; break;
    case 1: value = *a - *b; break;
    case 2: value = *a * *b; break;
    case 3: value = *a / *b; break;
    case 4: value = __builtin_fmodl(*a, *b); break;
    }
    __builtin_memset(result, 0, 16);
    __builtin_memcpy(result, &value, 10);
}

int unravel_f80_compare(int predicate, const long double *a, const long double *b) {
    return ((predicate & 1) && *a == *b) || ((predicate & 2) && *a > *b) || ((predicate & 4) && *a < *b) ||
           ((predicate & 8) && __builtin_isunordered(*a, *b));
}

static void put_f80(long double *result, long double value) {
    __builtin_memset(result, 0, 16);
    __builtin_memcpy(result, &value, 10);
}

void unravel_f80_from_f64(long double *result, double value) { put_f80(result, value); }
double unravel_f80_to_f64(const long double *value) { return static_cast<double>(*value); }
float unravel_f80_to_f32(const long double *value) { return static_cast<float>(*value); }
void unravel_f80_from_i64(long double *result, int64_t value) { put_f80(result, value); }
void unravel_f80_from_u64(long double *result, uint64_t value) { put_f80(result, value); }
int64_t unravel_f80_to_i64(const long double *value) { return static_cast<int64_t>(*value); }
uint64_t unravel_f80_to_u64(const long double *value) { return static_cast<uint64_t>(*value); }
}
