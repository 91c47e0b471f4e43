/* generic.h -- F on any machine: four floats in the compiler's own vectors, no fused
 * multiply-add. Every operation is exactly rounded, so all machines give the same bits. */
#pragma once
#include <string.h>
#define LANES     4    // floats of an F
#define TILE_ROWS 6    // rows x 2 F of a product kept in registers
#define GATE_ROWS 4    // rows x 3 F of a layer's products kept in registers
typedef float F __attribute__((vector_size(16), aligned(16)));
typedef int32_t I __attribute__((vector_size(16), aligned(16)));
typedef I M;
#include "vectors.h"
KERNEL_INLINE F f_set(float x) { return (F){x, x, x, x}; }
KERNEL_INLINE float s_fma(float a, float b, float c) { return a * b + c; }
KERNEL_INLINE F f_fma(F a, F b, F c) { return a * b + c; }
KERNEL_INLINE F f_reciprocal(F x) { return 1.0f / x; }
