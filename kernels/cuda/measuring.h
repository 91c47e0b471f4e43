/* measuring.h -- two kernels that measure a GPU and have no part in a trainer. */
#pragma once
#include <stdint.h>

enum { MEASURE_WAIT, MEASURE_NOISE, MEASURES };

typedef struct WaitUntilArgs {
    uint64_t nanoseconds;
} WaitUntilArgs;

// Numbers that differ in all bits, below 1: what a GPU multiplies slower than zeros
typedef struct FillNoiseArgs {
    float* wide;         // [count], or NULL
    uint16_t* narrow;    // [count] in bf16, where wide is NULL
    int64_t count;
} FillNoiseArgs;

#if defined(__CUDACC__)

CUDA_ENTRY void wait_until(const __grid_constant__ WaitUntilArgs a) {
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < a.nanoseconds);
}

CUDA_ENTRY void fill_noise(const __grid_constant__ FillNoiseArgs a) {
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int64_t i = first; i < a.count; i += (int64_t)gridDim.x * blockDim.x) {
        const uint32_t bits = (uint32_t)i * 2654435769u ^ (uint32_t)(i >> 7) * 2246822519u;
        const float x = (float)(int32_t)bits * 0x1p-31f;
        if (a.wide) a.wide[i] = x;
        else a.narrow[i] = (uint16_t)(__float_as_uint(x) >> 16);
    }
}

#endif
