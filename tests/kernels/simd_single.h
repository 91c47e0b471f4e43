/* simd_single.h -- simd/scalar.h with what the CPU drivers need: registers of one lane. */
#pragma once
#include "kernels/simd/scalar.h"
#define LANES 1
#define TILE_ROWS 6
#define GATE_ROWS 4
KERNEL_INLINE F f_load(const float* p) { return *p; }
KERNEL_INLINE void f_store(float* p, F v) { *p = v; }
KERNEL_INLINE float f_sum(F v) { return v; }
KERNEL_INLINE uint64_t nonzero_bytes(const uint8_t* p, int count) {
    uint64_t found = 0;
    for (int i = 0; i < count; i++) found |= (uint64_t)(p[i] != 0) << i;
    return found;
}
KERNEL_INLINE float s_fma(float a, float b, float c) { return f_fma(a, b, c); }
