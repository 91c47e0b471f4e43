/* avx512.h -- F is a register of 16 floats. */
#pragma once
#include <immintrin.h>
#include <string.h>
#define LANES     16
#define TILE_ROWS 12
#define GATE_ROWS 8
typedef float F __attribute__((vector_size(64), aligned(64)));
typedef int32_t I __attribute__((vector_size(64), aligned(64)));
typedef __mmask16 M;
#define SIMD_OWN_MASKS
#define F_SCALE_SATURATES
#include "vectors.h"
KERNEL_INLINE F f_set(float x) { return (F)_mm512_set1_ps(x); }
KERNEL_INLINE float s_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KERNEL_INLINE F f_fma(F a, F b, F c) { return (F)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
KERNEL_INLINE F f_min(F a, F b) { return (F)_mm512_min_ps((__m512)a, (__m512)b); }
KERNEL_INLINE F f_max(F a, F b) { return (F)_mm512_max_ps((__m512)a, (__m512)b); }
KERNEL_INLINE M f_lt(F a, F b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ); }
KERNEL_INLINE M f_le(F a, F b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ); }
KERNEL_INLINE M f_ge(F a, F b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GE_OQ); }
KERNEL_INLINE M f_eq(F a, F b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ); }
KERNEL_INLINE F f_select(M m, F yes, F no) {
    return (F)_mm512_mask_blend_ps(m, (__m512)no, (__m512)yes);
}
KERNEL_INLINE F f_reciprocal(F x) {    // 14 bits, and one step of Newton's: 23
    __m512 guess = _mm512_rcp14_ps((__m512)x);
    return (F)_mm512_mul_ps(guess, _mm512_fnmadd_ps((__m512)x, guess, _mm512_set1_ps(2.0f)));
}
KERNEL_INLINE F f_round(F x) { return (F)_mm512_roundscale_ps((__m512)x, 0); }
KERNEL_INLINE F f_scale(F v, F n) { return (F)_mm512_scalef_ps((__m512)v, (__m512)n); }
KERNEL_INLINE uint64_t nonzero_bytes(const uint8_t* p, int count) {
    __mmask64 there = count < 64 ? ((__mmask64)1 << count) - 1 : ~(__mmask64)0;
    __m512i bytes = _mm512_maskz_loadu_epi8(there, p);
    return _mm512_test_epi8_mask(bytes, bytes);
}
