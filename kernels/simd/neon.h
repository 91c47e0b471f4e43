/* neon.h -- F is a register of 4 floats, with fused multiply-add: 64-bit ARM. */
#pragma once
#include <arm_neon.h>
#include <string.h>
#define LANES     4
#define TILE_ROWS 12
#define GATE_ROWS 8
typedef float F __attribute__((vector_size(16), aligned(16)));
typedef int32_t I __attribute__((vector_size(16), aligned(16)));
typedef I M;
#include "vectors.h"
KERNEL_INLINE F f_set(float x) { return (F)vdupq_n_f32(x); }
KERNEL_INLINE float s_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KERNEL_INLINE F f_fma(F a, F b, F c) {
    return (F)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
KERNEL_INLINE F f_reciprocal(F x) { return 1.0f / x; }
