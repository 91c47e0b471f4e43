/* probe.h -- what the tests of kernels/ call besides the tables themselves. */
#pragma once
#include "kernels/kernels.h"
#pragma GCC visibility push(default)

// As kernels_find(); then, from KERNELS_PATHS on, the drivers made of simd/scalar.h, and bf16
const Kernels* probe_find(int path);

void probe_philox(int count, uint64_t seed, uint32_t purpose, const uint32_t* index,
                  uint64_t step, uint32_t head, uint32_t* words);      // (count, 4)

// A function of arithmetic.h on `count` numbers, a multiple of the lanes; 0 if it has no such name.
// in and out hold one array for each argument and each result
int probe_math_generic(const char* name, int count, const float* const* in, float* const* out);
int probe_math_avx2(const char* name, int count, const float* const* in, float* const* out);
int probe_math_avx512(const char* name, int count, const float* const* in, float* const* out);
int probe_math_neon(const char* name, int count, const float* const* in, float* const* out);
int probe_math_scalar(const char* name, int count, const float* const* in, float* const* out);
