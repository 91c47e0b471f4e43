/* scalar.h -- F is one float: a CUDA thread, or plain C and C++.
 *
 * On a CPU it computes the bits of generic.h, one lane of them; a GPU fuses multiply-adds. */
#pragma once
#include <stdint.h>
#include <string.h>
#if defined(__CUDACC__)
#define KERNEL_INLINE static __device__ __forceinline__
#else
#define KERNEL_INLINE static inline __attribute__((always_inline, unused))
#endif
typedef float F;
typedef int32_t I;
typedef int M;

KERNEL_INLINE F f_set(float x) { return x; }
KERNEL_INLINE I f_bits(F x) {
    I bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
KERNEL_INLINE F f_float(I x) {
    F number;
    memcpy(&number, &x, sizeof number);
    return number;
}
KERNEL_INLINE F f_whole(I x) { return (F)x; }
KERNEL_INLINE F f_round(F x) { return (x + 12582912.0f) - 12582912.0f; }
KERNEL_INLINE F f_scale(F v, F n) {
    return v * f_float((I)(((uint32_t)f_bits(n + 12582912.0f) << 23) + 0x3f800000u));
}
KERNEL_INLINE M f_lt(F a, F b) { return a < b; }
KERNEL_INLINE M f_le(F a, F b) { return a <= b; }
KERNEL_INLINE M f_ge(F a, F b) { return a >= b; }
KERNEL_INLINE M f_eq(F a, F b) { return a == b; }
KERNEL_INLINE F f_select(M m, F yes, F no) { return m ? yes : no; }
KERNEL_INLINE F f_min(F a, F b) { return a < b ? a : b; }
KERNEL_INLINE F f_max(F a, F b) { return a > b ? a : b; }
// Of 1 to 2^126. Division branches for other numbers; this is its fast way, with the same bits
KERNEL_INLINE F f_reciprocal(F x) {
#if defined(__CUDACC__)
    F r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return fmaf(r, -fmaf(x, r, -1.0f), r);
#else
    return 1.0f / x;
#endif
}
KERNEL_INLINE F f_fma(F a, F b, F c) {
#if defined(__CUDACC__)
    return fmaf(a, b, c);
#else
    return a * b + c;
#endif
}
