/* vectors.h -- what F, I, M and LANES can do in the compiler's vector language, which gcc and
 * clang share. The other headers add the multiply-add and the reciprocal of an instruction set. */
#pragma once
#include "kernels/common/inline.h"
typedef F FU __attribute__((aligned(4), may_alias));    // the same, anywhere in memory

KERNEL_INLINE F f_load(const float* p) { return *(const FU*)p; }
KERNEL_INLINE void f_store(float* p, F v) { *(FU*)p = v; }
KERNEL_INLINE I f_bits(F x) { return (I)x; }
KERNEL_INLINE F f_float(I x) { return (F)x; }
KERNEL_INLINE F f_whole(I x) { return __builtin_convertvector(x, F); }
#ifndef F_SCALE_SATURATES
// Adding 1.5 * 2^23 rounds to a whole number, which then is the low bits of the sum
KERNEL_INLINE F f_round(F x) { return (x + 12582912.0f) - 12582912.0f; }
KERNEL_INLINE F f_scale(F v, F n) {
    return v
           * (F)(((I)(n + 12582912.0f) << 23)
                 + 0x3f800000);    // a product, so that a NaN stays one
}
#endif
#ifndef SIMD_OWN_MASKS
KERNEL_INLINE M f_lt(F a, F b) { return a < b; }
KERNEL_INLINE M f_le(F a, F b) { return a <= b; }
KERNEL_INLINE M f_ge(F a, F b) { return a >= b; }
KERNEL_INLINE M f_eq(F a, F b) { return a == b; }
KERNEL_INLINE F f_select(M m, F yes, F no) { return (F)(((I)yes & m) | ((I)no & ~m)); }
KERNEL_INLINE F f_min(F a, F b) { return f_select(a < b, a, b); }
KERNEL_INLINE F f_max(F a, F b) { return f_select(a > b, a, b); }
#endif

// The sum of all lanes: halves onto halves, always in this order
KERNEL_INLINE float f_sum(F v) {
    float lane[LANES];
    memcpy(lane, &v, sizeof lane);
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    return lane[0];
}

#ifndef SIMD_OWN_MASKS
// Bit i is set where byte i < count <= 64 is not 0
KERNEL_INLINE uint64_t nonzero_bytes(const uint8_t* p, int count) {
    uint64_t found = 0;
    for (int i = 0; i < count; i += 8) {    // eight bytes at a look
        uint64_t word = 0;
        memcpy(&word, p + i, (size_t)(count - i < 8 ? count - i : 8));
        for (int byte = i; word && byte < i + 8 && byte < count; byte++)
            found |= (uint64_t)(p[byte] != 0) << byte;
    }
    return found;
}
#endif
