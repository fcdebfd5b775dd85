// The few things that need the C++ runtime or the C compiler: catching what native code throws,
// matching exception types, long doubles, and telling apart whose memory is allocated and freed.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cxxabi.h>
#include <dlfcn.h>
#include <cstdlib>
#include <exception>
#include <ffi.h>
#include <iostream>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <system_error>
#include <threads.h>
#include <typeinfo>
#include <unwind.h>

namespace {

// libstdc++'s exception header (Itanium C++ ABI). It ends with the unwinder's part, whose address names the
// exception, as in native landing pads; the thrown object follows. A dependent exception (one that
// std::rethrow_exception made) has the address of the primary object in place of the type.
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
    _Unwind_Exception unwind;
};

struct Globals {
    Header *caught;
    unsigned uncaught;
};

Header *header_of(_Unwind_Exception *exception) { return reinterpret_cast<Header *>(exception + 1) - 1; }

bool is_dependent(_Unwind_Exception *exception) { return exception->exception_class & 1; }

void *object_of(_Unwind_Exception *exception) {
    return is_dependent(exception) ? static_cast<void *>(header_of(exception)->type) : exception + 1;
}

std::type_info *type_of(_Unwind_Exception *exception) {
    auto *primary = static_cast<_Unwind_Exception *>(object_of(exception)) - 1;
    return header_of(primary)->type;
}

// A standard stream as the process found it.
template <class Char> struct Stream {
    std::basic_ios<Char> &stream;
    std::basic_ios<Char> format{nullptr};
    std::basic_streambuf<Char> *buffer = nullptr;

    explicit Stream(std::basic_ios<Char> &stream) : stream(stream) {}

    void keep() {
        format.copyfmt(stream);
        buffer = stream.rdbuf();
    }

    void reset() {
        stream.exceptions(std::ios_base::goodbit);
        stream.rdbuf(buffer);
        stream.copyfmt(format);
        stream.clear();
    }
};

struct Streams {
    Stream<char> narrow[4] = {Stream<char>(std::cin), Stream<char>(std::cout), Stream<char>(std::cerr),
                              Stream<char>(std::clog)};
    Stream<wchar_t> wide[4] = {Stream<wchar_t>(std::wcin), Stream<wchar_t>(std::wcout), Stream<wchar_t>(std::wcerr),
                               Stream<wchar_t>(std::wclog)};

    template <class Function> void each(Function function) {
        for (auto &stream : narrow) {
            function(stream);
        }
        for (auto &stream : wide) {
            function(stream);
        }
    }
};

Streams &streams() {
    static Streams all;
    return all;
}

// What takes a thread apart that leaves: of no type, and nobody may stop it. Each thread has its own, by number.
constexpr uint64_t FORCED = 1024;
Header forced[FORCED];

void not_thrown_on(_Unwind_Reason_Code, _Unwind_Exception *) { abort(); }

Globals *globals() { return reinterpret_cast<Globals *>(abi::__cxa_get_globals()); }

// Calls what may throw. An exception outlives this catch: a negative count of handlers says that it is being
// thrown again, so that leaving the handler does not destroy it.
template <class Function> _Unwind_Exception *catching(Function function) {
    try {
        function();
        return nullptr;
    } catch (...) {
        Header *header = globals()->caught;
        header->handler_count = -header->handler_count;
        return &header->unwind;
    }
}

} // namespace

extern "C" {

void *__cxa_init_primary_exception(void *, std::type_info *, void (*)(void *)) noexcept;

_Unwind_Exception *unravel_call(ffi_cif *cif, void (*function)(void), void *result, void **args) {
    return catching([=] { ffi_call(cif, function, result, args); });
}

_Unwind_Exception *unravel_call_words(uint64_t (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t),
                                      const uint64_t args[6], uint64_t *result) {
    return catching([=] { *result = function(args[0], args[1], args[2], args[3], args[4], args[5]); });
}

_Unwind_Exception *unravel_throw_system_error(int code) {
    return catching([=] { throw std::system_error(code, std::generic_category()); });
}

_Unwind_Exception *unravel_throw_bad_alloc() {
    return catching([] { throw std::bad_alloc(); });
}

_Unwind_Exception *unravel_call_back(ffi_cif *, void *, void **, void *);

// Native code calls a function of the program; an exception goes on through the native frames.
void unravel_closure(ffi_cif *cif, void *result, void **args, void *data) {
    if (_Unwind_Exception *exception = unravel_call_back(cif, result, args, data)) {
        _Unwind_RaiseException(exception);
        std::terminate();
    }
}

void *unravel_exception_globals() { return globals(); }

_Unwind_Exception *unravel_exception_init(void *object, std::type_info *type, void (*destructor)(void *)) {
    __cxa_init_primary_exception(object, type, destructor);
    // One reference, as __cxa_throw would set it; the count lies before the header.
    *reinterpret_cast<int *>(static_cast<char *>(object) - sizeof(Header) - 16) = 1;
    globals()->uncaught++;
    return static_cast<_Unwind_Exception *>(object) - 1;
}

_Unwind_Exception *unravel_exception_forced(uint64_t number) {
    Header &header = forced[number % FORCED];
    header.unwind.exception_class = 0;
    header.unwind.exception_cleanup = not_thrown_on;
    return &header.unwind;
}

int unravel_exception_is_forced(_Unwind_Exception *exception) {
    auto address = reinterpret_cast<uintptr_t>(exception);
    return address >= reinterpret_cast<uintptr_t>(forced) && address < reinterpret_cast<uintptr_t>(forced + FORCED);
}

// The exception being handled, to be thrown again; null without one.
_Unwind_Exception *unravel_exception_rethrow() {
    Header *header = globals()->caught;
    if (!header) {
        return nullptr;
    }
    if (unravel_exception_is_forced(&header->unwind)) {
        globals()->caught = nullptr;
        return &header->unwind;
    }
    header->handler_count = -header->handler_count;
    globals()->uncaught++;
    return &header->unwind;
}

void unravel_exception_again() { globals()->uncaught++; }
void *unravel_exception_type(_Unwind_Exception *exception) { return type_of(exception); }
void *unravel_exception_adjusted(_Unwind_Exception *exception) { return header_of(exception)->adjusted; }
void unravel_exception_set_adjusted(_Unwind_Exception *exception, void *adjusted) {
    header_of(exception)->adjusted = adjusted;
}

// Whether a handler for `wanted` takes the exception; `adjusted` becomes what the handler receives: the
// object or its base, or the pointer that was thrown.
int unravel_exception_matches(const std::type_info *wanted, _Unwind_Exception *exception, void **adjusted) {
    // type_info::__do_catch is virtual and protected.
    using DoCatch = bool (*)(const std::type_info *, const std::type_info *, void **, unsigned);
    const std::type_info *thrown = type_of(exception);
    *adjusted = object_of(exception);
    if (thrown->__is_pointer_p()) {
        *adjusted = *static_cast<void **>(*adjusted);
    }
    void **table = *reinterpret_cast<void **const *>(wanted);
    return reinterpret_cast<DoCatch>(table[4])(wanted, thrown, adjusted, 1);
}

void unravel_streams_keep() {
    streams().each([](auto &stream) { stream.keep(); });
}
void unravel_streams_reset() {
    streams().each([](auto &stream) { stream.reset(); });
}

// A function of the C library that stands behind ours.
#define BEHIND(name) reinterpret_cast<decltype(&name)>(dlsym(RTLD_NEXT, #name))

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
void *__libc_realloc(void *, size_t);
int unravel_owns(const void *);
void unravel_free(void *);
void *unravel_realloc(void *, size_t);
void *unravel_native_allocate(size_t, size_t);
size_t unravel_native_size(const void *);
void unravel_native_free(void *);
int unravel_is_native_heap(const void *);

// What libraries allocate in a call of the program's has a heap of its own, with the same addresses in every process.
void *malloc(size_t size) {
    void *block = unravel_native_allocate(0, size);
    return __builtin_expect(block != nullptr, 0) ? block : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    void *block = unravel_native_allocate(0, bytes);
    return __builtin_expect(block != nullptr, 0) ? __builtin_memset(block, 0, bytes) : __libc_calloc(count, size);
}

void *memalign(size_t align, size_t size) {
    void *block = unravel_native_allocate(align, size);
    return block ? block : __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }

int posix_memalign(void **result, size_t align, size_t size) {
    if (align < sizeof(void *) || (align & (align - 1))) {
        return EINVAL;
    }
    void *block = memalign(align, size);
    if (!block) {
        return ENOMEM;
    }
    *result = block;
    return 0;
}

// Libraries free what the program allocated, and the other way round: the address tells whose it is.
void free(void *pointer) {
    if (__builtin_expect(unravel_owns(pointer), 0)) {
        unravel_free(pointer);
    } else if (__builtin_expect(unravel_is_native_heap(pointer), 0)) {
        unravel_native_free(pointer);
    } else {
        __libc_free(pointer);
    }
}

void *realloc(void *pointer, size_t size) {
    if (!pointer) {
        return malloc(size);
    }
    if (__builtin_expect(unravel_owns(pointer), 0)) {
        return unravel_realloc(pointer, size);
    }
    if (__builtin_expect(!unravel_is_native_heap(pointer), 1)) {
        return __libc_realloc(pointer, size);
    }
    size_t old = unravel_native_size(pointer);
    if (size && size <= old && size > old / 2) {
        return pointer;
    }
    void *block = size ? malloc(size) : nullptr;
    if (block) {
        __builtin_memcpy(block, pointer, size < old ? size : old);
    }
    if (block || !size) {
        unravel_native_free(pointer);
    }
    return block;
}

size_t malloc_usable_size(void *pointer) {
    if (unravel_is_native_heap(pointer)) {
        return unravel_native_size(pointer);
    }
    static const auto behind = BEHIND(malloc_usable_size);
    return behind(pointer);
}

int unravel_thread_create(pthread_t *, const void *, void *, void *, int *);
int unravel_thread_join(pthread_t, void **, int, int *);

// Libraries start threads. If the program called them, these are the program's or cannot be followed.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) noexcept {
    int result;
    if (unravel_thread_create(thread, attributes, reinterpret_cast<void *>(start), argument, &result)) {
        return result;
    }
    static const auto behind = BEHIND(pthread_create);
    return behind(thread, attributes, start, argument);
}

int pthread_join(pthread_t thread, void **value) {
    int result;
    if (unravel_thread_join(thread, value, 0, &result)) {
        return result;
    }
    static const auto behind = BEHIND(pthread_join);
    return behind(thread, value);
}

int pthread_detach(pthread_t thread) noexcept {
    int result;
    if (unravel_thread_join(thread, nullptr, 1, &result)) {
        return result;
    }
    static const auto behind = BEHIND(pthread_detach);
    return behind(thread);
}

int thrd_create(thrd_t *thread, thrd_start_t start, void *argument) {
    int result;
    if (unravel_thread_create(thread, nullptr, reinterpret_cast<void *>(start), argument, &result)) {
        return result;
    }
    static const auto behind = BEHIND(thrd_create);
    return behind(thread, start, argument);
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
void unravel_f80_from_wide(long double *result, uint64_t low, uint64_t high, int is_signed) {
    unsigned __int128 value = static_cast<unsigned __int128>(high) << 64 | low;
    put_f80(result, is_signed ? static_cast<long double>(static_cast<__int128>(value)) : static_cast<long double>(value));
}
void unravel_f80_to_wide(uint64_t *result, const long double *value, int is_signed) {
    unsigned __int128 whole = is_signed ? static_cast<unsigned __int128>(static_cast<__int128>(*value))
                                        : static_cast<unsigned __int128>(*value);
    result[0] = static_cast<uint64_t>(whole);
    result[1] = static_cast<uint64_t>(whole >> 64);
}
int64_t unravel_f80_to_i64(const long double *value) { return static_cast<int64_t>(*value); }
uint64_t unravel_f80_to_u64(const long double *value) { return static_cast<uint64_t>(*value); }

void unravel_f80_call(void *function, int count, long double *result, const long double *a) {
    using One = long double (*)(long double);
    using Two = long double (*)(long double, long double);
    using Three = long double (*)(long double, long double, long double);
    switch (count) {
    case 1: put_f80(result, reinterpret_cast<One>(function)(a[0])); break;
    case 2: put_f80(result, reinterpret_cast<Two>(function)(a[0], a[1])); break;
    case 3: put_f80(result, reinterpret_cast<Three>(function)(a[0], a[1], a[2])); break;
    }
}

void unravel_f80_scale(long double *result, const long double *value, int exponent) {
    put_f80(result, __builtin_ldexpl(*value, exponent));
}
void unravel_f80_power(long double *result, const long double *value, int exponent) {
    put_f80(result, __builtin_powil(*value, exponent));
}

// LLVM's class bits: signalling and quiet NaN, then from -inf to +inf.
uint32_t unravel_f80_class(const long double *value) {
    uint64_t mantissa;
    __builtin_memcpy(&mantissa, value, sizeof mantissa);
    int kind = __builtin_fpclassify(0, 1, 2, 3, 4, *value);
    if (kind == 0) {
        return 1u << (mantissa >> 62 & 1);
    }
    return 1u << (__builtin_signbit(*value) ? 1 + kind : 10 - kind);
}
}
