/* puffer_minmax.h -- fminf, fmaxf, fmin and fmax as two instructions, where gcc has none.
 *
 * gcc for x86-64 calls the C library for each of them. A game whose steps clip positions took up to
 * 1.8 times as long. These return the library's bits: the number where one of both is none, and
 * the second of two zeros. They may come after the author's calls of them, in the same file.
 */
#pragma once
#include <math.h>

#if defined(__x86_64__) && defined(__OPTIMIZE__) && defined(__GNUC__) && !defined(__clang__)       \
    && !defined(__cplusplus) && !defined(__SANITIZE_ADDRESS__)
#define PUFFER_INLINE extern inline __attribute__((gnu_inline, always_inline))
PUFFER_INLINE float fminf(float a, float b) { return b != b ? a : a < b ? a : b; }
PUFFER_INLINE float fmaxf(float a, float b) { return b != b ? a : a > b ? a : b; }
PUFFER_INLINE double fmin(double a, double b) { return b != b ? a : a < b ? a : b; }
PUFFER_INLINE double fmax(double a, double b) { return b != b ? a : a > b ? a : b; }
#undef PUFFER_INLINE
#endif
