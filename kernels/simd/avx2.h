/* avx2.h -- F is a register of 8 floats, with fused multiply-add. */
#pragma once
#include <immintrin.h>
#include <string.h>
#define LANES     8
#define TILE_ROWS 6
#define GATE_ROWS 4
typedef float F __attribute__((vector_size(32), aligned(32)));
typedef int32_t I __attribute__((vector_size(32), aligned(32)));
typedef I M;
#include "vectors.h"
KERNEL_INLINE F f_set(float x) { return (F)_mm256_set1_ps(x); }
KERNEL_INLINE float s_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KERNEL_INLINE F f_fma(F a, F b, F c) { return (F)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
KERNEL_INLINE F f_reciprocal(F x) { return 1.0f / x; }
