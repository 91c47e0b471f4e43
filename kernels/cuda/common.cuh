/* common.cuh -- what the CUDA kernels share: number formats, faults, sums in a fixed order. */
#pragma once
#include "kernels/simd/scalar.h"
#include "shim.h"
#include "kernels/common/arithmetic.h"
#include "kernels/common/philox.h"
#include "contract.h"

// To the nearest bf16, ties to even; a NaN stays one
KERNEL_INLINE uint16_t to_bf16(float x) {
    uint32_t bits = (uint32_t)f_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// For products: either format, or both
KERNEL_INLINE void write_operand(float* wide, uint16_t* narrow, int64_t at, float value) {
    if (wide) wide[at] = value;
    if (narrow) narrow[at] = to_bf16(value);
}

KERNEL_INLINE int is_bad(float x) { return !(x - x == 0.0f); }

KERNEL_INLINE void note_fault(CudaFault* fault, int t, int row, int kind) {
    cuda_least(fault, (uint64_t)t << 40 | (uint64_t)row << 8 | (uint64_t)kind);
}

KERNEL_INLINE float obs_float(const void* obs, int dtype, int64_t at) {
    if (dtype == CUDA_I32) return (float)((const int32_t*)obs)[at];    // to the nearest float
    return dtype == CUDA_F32 ? ((const float*)obs)[at] : (float)((const uint8_t*)obs)[at];
}

// lanes[0] = the sum of CUDA_LANES lanes: halves onto halves
#define CUDA_SUM_LANES(lanes)                                                                      \
    for (int half_ = CUDA_LANES / 2; half_; half_ /= 2)                                            \
        CUDA_PHASE(thread)                                                                         \
            CUDA_SHARE(lane_, thread, half_) lanes[lane_] += lanes[lane_ + half_]
