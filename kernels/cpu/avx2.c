/* avx2.c -- the kernels for x86-64 with AVX2 and FMA. */
#if defined(__x86_64__)
#include <stdint.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#include "kernels/simd/avx2.h"
#include "driver.h"

KERNEL_TABLE(avx2);
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
