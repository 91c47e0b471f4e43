// program_begin.h -- what stands before an environment that is compiled for a GPU: a C library
// for one thread, and what makes C++ of its C. In: nothing. Out: names for the code behind it.
//
// Compiled by NVRTC, where every function is the GPU's, and by g++ for the emulated GPU. Nothing
// of the system is included: its names would meet the author's, which live in puffer_c::env.
#define _Bool          puffer_bool
#define _Static_assert static_assert
#define _Noreturn
#define _Alignas alignas
#define restrict __restrict__
#define register
#define __extension__
#define __auto_type          auto
#define typeof(...)          puffer_valued<decltype(__VA_ARGS__)>
#define __typeof__           typeof
#define __typeof             typeof
#define __builtin_inff()     __builtin_bit_cast(float, 0x7f800000u)
#define __builtin_nanf(text) __builtin_bit_cast(float, 0x7fc00000u)

#ifdef __CUDACC_RTC__
#define PUFFER_STATE            __shared__
#define __builtin_popcount(x)   __popc(x)
#define __builtin_popcountll(x) __popcll(x)
#define __builtin_clz(x)        __clz(x)
#define __builtin_clzll(x)      __clzll(x)
#define __builtin_ctz(x)        (__ffs(x) - 1)
#define __builtin_ctzll(x)      (__ffsll(x) - 1)
#define __builtin_ffs(x)        __ffs(x)
#define __builtin_unreachable() __trap()
#define __builtin_prefetch(...) ((void)0)
#else
#define PUFFER_STATE static thread_local
extern "C" {
void* malloc(unsigned long);
void free(void*);
int printf(const char*, ...);
int fflush(void*);
char* getenv(const char*);
#define PUFFER_ONE(name)                                                                           \
    double name(double);                                                                           \
    float name##f(float);
#define PUFFER_TWO(name)                                                                           \
    double name(double, double);                                                                   \
    float name##f(float, float);
#endif

#ifdef __CUDACC_RTC__    // CUDA's sin(float) is float: C's is double
#define PUFFER_MATH_WRAPPED
#define PUFFER_ONE(name)                                                                           \
    inline double name(double x) { return ::name(x); }
#define PUFFER_TWO(name)                                                                           \
    inline double name(double x, double y) { return ::name(x, y); }
namespace puffer_c {
#endif
#include "math_functions.h"
#ifdef __CUDACC_RTC__
inline double fma(double x, double y, double z) { return ::fma(x, y, z); }
inline double ldexp(double x, int n) { return ::ldexp(x, n); }
inline double scalbn(double x, int n) { return ::scalbn(x, n); }
inline double frexp(double x, int* n) { return ::frexp(x, n); }
inline double modf(double x, double* whole) { return ::modf(x, whole); }
inline long lround(double x) { return ::lround(x); }
inline long lrint(double x) { return ::lrint(x); }
inline long long llround(double x) { return ::llround(x); }
inline long long llrint(double x) { return ::llrint(x); }
inline int ilogb(double x) { return ::ilogb(x); }
#else
}
namespace puffer_c {
#endif

//------------------------------------------------------------------------------------
// C in C++
//------------------------------------------------------------------------------------
typedef bool puffer_bool;
typedef unsigned long size_t;
template <class T> using puffer_type = T;    // (T){1, 2}: puffer_type<T>{1, 2}
template <class T> struct puffer_box {
    T value;
};    // one that has an address
template <class T> inline T puffer_nothing() { return T(); }    // what raylib returns
template <class T> struct puffer_referred {
    typedef T type;
};
template <class T> struct puffer_referred<T&> {
    typedef T type;
};
template <class T> using puffer_valued = typename puffer_referred<T>::type;
struct puffer_number {    // becomes an enum that has no name
    long long value;
    template <class T> constexpr operator T() const { return (T)value; }
};
struct puffer_pointer {    // becomes a pointer to a struct that has none
    const void* value;
    template <class T> constexpr operator T*() const { return (T*)value; }
};
template <bool, class T> struct puffer_if {};
template <class T> struct puffer_if<true, T> {
    typedef T type;
};
template <class T> struct puffer_is_enum {
    static constexpr bool value = __is_enum(T);
};
#define PUFFER_ENUM(E) typename puffer_if<puffer_is_enum<E>::value, E>::type

template <class E> inline PUFFER_ENUM(E) & operator++(E& e) { return e = (E)((long long)e + 1); }
template <class E> inline PUFFER_ENUM(E) & operator--(E& e) { return e = (E)((long long)e - 1); }
template <class E> inline PUFFER_ENUM(E) operator++(E & e, int) {
    E old = e;
    ++e;
    return old;
}
template <class E> inline PUFFER_ENUM(E) operator--(E & e, int) {
    E old = e;
    --e;
    return old;
}
#define PUFFER_CHANGE(op)                                                                          \
    template <class E, class V> inline PUFFER_ENUM(E)& operator op##=(E & e, V v) {                \
        return e = (E)((long long)e op(long long) v);                                              \
    }
// clang-format off
PUFFER_CHANGE(+) PUFFER_CHANGE(-) PUFFER_CHANGE(*) PUFFER_CHANGE(/) PUFFER_CHANGE(%)
PUFFER_CHANGE(&) PUFFER_CHANGE(|) PUFFER_CHANGE(^) PUFFER_CHANGE(<<) PUFFER_CHANGE(>>)
// clang-format on
#undef PUFFER_CHANGE
#undef PUFFER_ENUM

    //------------------------------------------------------------------------------------
    // The env that this thread is inside of
    //------------------------------------------------------------------------------------
    struct puffer_place {         // on a GPU one for a block
    unsigned int* rand_states;    // [num_envs]
    unsigned long* fault;         // EnvFault
    int first;                    // env of the launch's first thread
    const void* args;             // EnvsArgs
#ifndef __CUDACC_RTC__
    int env;
#endif
};
PUFFER_STATE puffer_place puffer_here;

inline const void* puffer_args() { return puffer_here.args; }

inline int puffer_env() {
#ifdef __CUDACC_RTC__
    return puffer_here.first + (int)(blockIdx.x * blockDim.x + threadIdx.x);
#else
    return puffer_here.env;
#endif
}

#ifndef __CUDACC_RTC__
struct puffer_stopped {};    // thrown: the thread ends
static unsigned long puffer_heap_used, puffer_heap_size = ~0ul;
#endif

// The rest of the thread is left out. Of all faults the least is kept
[[noreturn]] inline void puffer_stop(int what) {
    unsigned long fault = (unsigned long)puffer_env() << 8 | (unsigned long)what;
#ifdef __CUDACC_RTC__
    atomicMin((unsigned long long*)puffer_here.fault, (unsigned long long)fault);
    asm volatile("exit;");
    __builtin_unreachable();
#else
    unsigned long known = __atomic_load_n(puffer_here.fault, __ATOMIC_RELAXED);
    while (fault < known
           && !__atomic_compare_exchange_n(puffer_here.fault, &known, fault, false,
                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    throw puffer_stopped();
#endif
}

// Envs that fail alike say so once, or nearly
inline bool puffer_is_first() { return *(volatile unsigned long*)puffer_here.fault == ~0ul; }

// What a GPU has not, and only a table of functions led to
[[noreturn]] inline void puffer_refuse(const char* message) {
    if (puffer_is_first()) ::printf("%s\n", message);
    puffer_stop(5);
}

[[noreturn]] inline void puffer_assert(const char* test, const char* file, int line) {
    if (puffer_is_first()) ::printf("%s:%d: Assertion `%s' failed.\n", file, line, test);
    puffer_stop(5);
}

[[noreturn]] inline void abort() { puffer_stop(5); }    // ENV_ABORT
[[noreturn]] inline void exit(int) { puffer_stop(5); }

//------------------------------------------------------------------------------------
// stdlib.h: chance. The same bits as puffer_prelude.h's
//------------------------------------------------------------------------------------
inline int rand() {
    unsigned int* state = &puffer_here.rand_states[puffer_env()];
    unsigned int old = *state;
    *state = old * 747796405u + 2891336453u;
    unsigned int word = ((old >> ((old >> 28) + 4u)) ^ old) * 277803737u;
    return (int)(((word >> 22) ^ word) >> 1);
}

inline void srand(unsigned int seed) { puffer_here.rand_states[puffer_env()] = seed; }
inline long random() { return rand(); }
inline void srandom(unsigned int seed) { srand(seed); }

inline int puffer_random_value(int lo, int hi) {
    if (lo > hi) {
        int swap = lo;
        lo = hi;
        hi = swap;
    }
    return lo + (int)((long)rand() % ((long)hi - lo + 1));
}

// As the GNU C library draws: three steps of a congruential generator, 11 + 10 + 10 bits
inline int rand_r(unsigned int* seed) {
    unsigned int next = *seed, result = 0;
    for (int i = 0; i < 3; i++) {
        next = next * 1103515245u + 12345u;
        unsigned int bits = next >> 16;
        result = i ? result << 10 ^ bits % 1024u : bits % 2048u;
    }
    *seed = next;
    return (int)result;
}

inline int abs(int x) { return x < 0 ? -x : x; }
inline long labs(long x) { return x < 0 ? -x : x; }
inline long long llabs(long long x) { return x < 0 ? -x : x; }
inline int puffer_isnan(double x) { return x != x; }
inline int puffer_isinf(double x) { return x - x != 0.0 && x == x ? (x > 0 ? 1 : -1) : 0; }
inline int puffer_isfinite(double x) { return x - x == 0.0; }
inline int puffer_signbit(double x) { return __builtin_bit_cast(long, x) < 0; }

//------------------------------------------------------------------------------------
// string.h and ctype.h
//------------------------------------------------------------------------------------
// NVRTC's own memcpy and memset go byte by byte, where a lane's bytes lie in sectors of their own.
// These take words: what the pointers' types promise to lie at, or else 4 bytes where both addresses
// allow it. The empty asm keeps the compiler from finding its byte loop in them again
#ifdef __CUDACC_RTC__
#define PUFFER_OPAQUE asm volatile("")
#define PUFFER_LIES(address, size)
typedef unsigned int puffer_word;
typedef unsigned long puffer_long;
#else
#define PUFFER_OPAQUE
#define PUFFER_LIES(address, size)                                                                 \
    if ((size_t)(address) % (size)) puffer_stop(5)    // it ends a CUDA context
typedef unsigned int __attribute__((may_alias)) puffer_word;
typedef unsigned long __attribute__((may_alias)) puffer_long;
#endif

template <class T> struct puffer_line {    // what a pointer to T is a multiple of
    static constexpr size_t value = alignof(T);
};
template <> struct puffer_line<void> {
    static constexpr size_t value = 1;
};
template <> struct puffer_line<const void> {
    static constexpr size_t value = 1;
};

template <class Word> inline void puffer_copy_words(void* to, const void* from, size_t size) {
    const Word* in = (const Word*)from;
    Word* out = (Word*)to;
    size_t i = 0, words = size / sizeof(Word);
    PUFFER_LIES(words ? (size_t)to | (size_t)from : 0, sizeof(Word));
    for (; i + 4 <= words; i += 4) {    // four under way
        Word a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];
        PUFFER_OPAQUE;
        out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
    }
    for (; i < words; i++) {
        out[i] = in[i];
        PUFFER_OPAQUE;
    }
#pragma unroll 1
    for (i *= sizeof(Word); i < size; i++) {
        ((char*)to)[i] = ((const char*)from)[i];
        PUFFER_OPAQUE;
    }
}

template <class Word> inline void puffer_fill_words(void* to, int byte, size_t size) {
    const Word word = (Word)((unsigned char)byte * 0x0101010101010101ul);
    Word* out = (Word*)to;
    size_t i = 0;
    PUFFER_LIES(size < sizeof(Word) ? 0 : (size_t)to, sizeof(Word));
    for (; i < size / sizeof(Word); i++) {
        out[i] = word;
        PUFFER_OPAQUE;
    }
#pragma unroll 1
    for (i *= sizeof(Word); i < size; i++) {
        ((char*)to)[i] = (char)byte;
        PUFFER_OPAQUE;
    }
}

// Of any address: bytes until words begin, if they ever do
__attribute__((noinline)) inline void puffer_copy(void* to, const void* from, size_t size) {
    size_t i = 0, end = ((size_t)to ^ (size_t)from) & 3 ? size : -(size_t)to & 3;
#pragma unroll 1
    for (; i < size && i < end; i++) {
        ((char*)to)[i] = ((const char*)from)[i];
        PUFFER_OPAQUE;
    }
    puffer_copy_words<puffer_word>((char*)to + i, (const char*)from + i, size - i);
}

__attribute__((noinline)) inline void puffer_fill(void* to, int byte, size_t size) {
    size_t i = 0;
#pragma unroll 1
    for (; i < size && ((size_t)to + i & 3); i++) ((char*)to)[i] = (char)byte;
    puffer_fill_words<puffer_word>((char*)to + i, byte, size - i);
}

template <class T, class U> inline void* memcpy(T* to, U* from, size_t size) {
    constexpr size_t one = puffer_line<T>::value, other = puffer_line<U>::value;
    if constexpr (one < 4 || other < 4) puffer_copy(to, from, size);
    else if constexpr (one < 8 || other < 8) puffer_copy_words<puffer_word>(to, from, size);
    else puffer_copy_words<puffer_long>(to, from, size);
    return to;
}

template <class T> inline void* memset(T* to, int byte, size_t size) {
    constexpr size_t line = puffer_line<T>::value;
    if constexpr (line < 4) puffer_fill(to, byte, size);
    else if constexpr (line < 8) puffer_fill_words<puffer_word>(to, byte, size);
    else puffer_fill_words<puffer_long>(to, byte, size);
    return to;
}

// What is no pointer, but becomes one
inline void* memcpy(void* to, const void* from, size_t size) {
    return puffer_copy(to, from, size), to;
}
inline void* memset(void* to, int byte, size_t size) { return puffer_fill(to, byte, size), to; }

inline void* memmove(void* to, const void* from, size_t size) {
    char* out = (char*)to;
    const char* in = (const char*)from;
    if (out <= in || out >= in + size) puffer_copy(to, from, size);    // upwards
    else
        while (size--) out[size] = in[size];
    return to;
}

inline int memcmp(const void* a, const void* b, size_t size) {
    const unsigned char *x = (const unsigned char*)a, *y = (const unsigned char*)b;
    for (size_t i = 0; i < size; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

inline void* memchr(const void* where, int wanted, size_t size) {
    const unsigned char* x = (const unsigned char*)where;
    for (size_t i = 0; i < size; i++)
        if (x[i] == (unsigned char)wanted) return (void*)(x + i);
    return 0;
}

inline size_t strlen(const char* text) {
    size_t length = 0;
    while (text[length]) length++;
    return length;
}

inline int strncmp(const char* a, const char* b, size_t most) {
    for (size_t i = 0; i < most; i++) {
        unsigned char x = (unsigned char)a[i], y = (unsigned char)b[i];
        if (x != y) return x < y ? -1 : 1;
        if (!x) break;
    }
    return 0;
}

inline int strcmp(const char* a, const char* b) { return strncmp(a, b, ~(size_t)0); }

inline char* strcpy(char* to, const char* from) {
    size_t i = 0;
    do to[i] = from[i];
    while (from[i++]);
    return to;
}

inline char* strncpy(char* to, const char* from, size_t size) {
    size_t i = 0;
    for (; i < size && from[i]; i++) to[i] = from[i];
    for (; i < size; i++) to[i] = 0;
    return to;
}

inline char* strcat(char* to, const char* from) {
    strcpy(to + strlen(to), from);
    return to;
}

inline char* strchr(const char* text, int wanted) {
    for (;; text++) {
        if (*text == (char)wanted) return (char*)text;
        if (!*text) return 0;
    }
}

inline char* strrchr(const char* text, int wanted) {
    const char* found = 0;
    do
        if (*text == (char)wanted) found = text;
    while (*text++);
    return (char*)found;
}

inline size_t strnlen(const char* text, size_t most) {
    size_t length = 0;
    while (length < most && text[length]) length++;
    return length;
}

inline char* strncat(char* to, const char* from, size_t most) {
    size_t length = strnlen(from, most);
    char* end = to + strlen(to);
    memcpy(end, from, length);
    end[length] = 0;
    return to;
}

inline size_t strcspn(const char* text, const char* ends) {
    size_t length = 0;
    while (text[length] && !strchr(ends, text[length])) length++;
    return length;
}

inline size_t strspn(const char* text, const char* taken) {
    size_t length = 0;
    while (text[length] && strchr(taken, text[length])) length++;
    return length;
}

inline char* strpbrk(const char* text, const char* wanted) {
    const char* found = text + strcspn(text, wanted);
    return *found ? (char*)found : 0;
}

inline int isdigit(int c) { return c >= '0' && c <= '9'; }
inline int isupper(int c) { return c >= 'A' && c <= 'Z'; }
inline int islower(int c) { return c >= 'a' && c <= 'z'; }
inline int isalpha(int c) { return isupper(c) || islower(c); }
inline int isalnum(int c) { return isalpha(c) || isdigit(c); }
inline int isspace(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline int isprint(int c) { return c >= ' ' && c <= '~'; }
inline int ispunct(int c) { return isprint(c) && c != ' ' && !isalnum(c); }
inline int isxdigit(int c) { return isdigit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f'); }
inline int toupper(int c) { return islower(c) ? c - 32 : c; }
inline int tolower(int c) { return isupper(c) ? c + 32 : c; }

inline int strncasecmp(const char* a, const char* b, size_t most) {
    for (size_t i = 0; i < most; i++) {
        int x = tolower((unsigned char)a[i]), y = tolower((unsigned char)b[i]);
        if (x != y) return x - y;
        if (!x) break;
    }
    return 0;
}

inline int strcasecmp(const char* a, const char* b) { return strncasecmp(a, b, ~(size_t)0); }

inline int atoi(const char* text) {
    unsigned int value = 0;
    while (isspace(*text)) text++;
    bool negative = *text == '-';
    if (*text == '-' || *text == '+') text++;
    while (isdigit(*text)) value = value * 10u + (unsigned int)(*text++ - '0');
    return (int)(negative ? 0u - value : value);
}

//------------------------------------------------------------------------------------
// stdlib.h: memory. 16 bytes before each block hold its size
//------------------------------------------------------------------------------------
inline void* malloc(size_t size) {
    if (size > ~(size_t)0 - 16) puffer_stop(4);    // ENV_MEMORY
#ifdef __CUDACC_RTC__
    size_t* block = (size_t*)::malloc(size + 16);
    if (!block) puffer_stop(4);
#else
    if (__atomic_add_fetch(&puffer_heap_used, size + 16, __ATOMIC_RELAXED) > puffer_heap_size) {
        __atomic_sub_fetch(&puffer_heap_used, size + 16, __ATOMIC_RELAXED);
        puffer_stop(4);
    }
    size_t* block = (size_t*)::malloc(size + 16);
    if (!block) puffer_stop(4);
#endif
    block[0] = size;
    return block + 2;
}

inline void free(void* memory) {
    if (!memory) return;
    size_t* block = (size_t*)memory - 2;
#ifndef __CUDACC_RTC__
    __atomic_sub_fetch(&puffer_heap_used, block[0] + 16, __ATOMIC_RELAXED);
#endif
    ::free(block);
}

inline void* calloc(size_t count, size_t size) {
    if (size && count > ~(size_t)0 / size) puffer_stop(4);
    void* memory = malloc(count * size);
    memset(memory, 0, count * size);
    return memory;
}

inline void* realloc(void* memory, size_t size) {
    void* moved = malloc(size);
    if (memory) {
        size_t old = ((size_t*)memory)[-2];
        memcpy(moved, memory, old < size ? old : size);
        free(memory);
    }
    return moved;
}

inline char* strdup(const char* text) { return strcpy((char*)malloc(strlen(text) + 1), text); }

typedef int (*puffer_compare)(const void*, const void*);

// Equal elements stay in their order, as the GNU C library's qsort leaves them
inline void qsort(void* base, size_t count, size_t size, puffer_compare compare) {
    if (count < 2 || !size) return;
    char *from = (char*)base, *spare = (char*)malloc(count * size), *to = spare;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t left = 0; left < count; left += 2 * width) {
            size_t middle = left + width < count ? left + width : count;
            size_t end = middle + width < count ? middle + width : count;
            size_t a = left, b = middle;
            for (size_t out = left; out < end; out++) {
                bool first = b == end
                             || (a < middle && compare(from + a * size, from + b * size) <= 0);
                memcpy(to + out * size, from + (first ? a++ : b++) * size, size);
            }
        }
        char* swap = from;
        from = to;
        to = swap;
    }
    if (from == spare) memcpy(base, spare, count * size);
    free(spare);
}

inline void* bsearch(const void* key, const void* base, size_t count, size_t size,
                     puffer_compare compare) {
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        const char* here = (const char*)base + middle * size;
        int order = compare(key, here);
        if (order == 0) return (void*)here;
        if (order < 0) count = middle;
        else low = middle + 1;
    }
    return 0;
}

//------------------------------------------------------------------------------------
// stdio.h
//------------------------------------------------------------------------------------
template <class... Values> inline int fprintf(void*, const char* format, Values... values) {
    return ::printf(format, values...);
}
inline int puts(const char* text) { return ::printf("%s\n", text); }
inline int putchar(int c) { return ::printf("%c", c); }
inline int fputs(const char* text, void*) { return ::printf("%s", text); }
inline int fflush(void*) { return 0; }
inline void perror(const char* text) { puts(text); }

namespace env {    // the author's
