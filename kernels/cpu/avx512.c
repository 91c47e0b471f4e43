/* avx512.c -- the kernels for x86-64 with AVX-512 (F, VL, BW, DQ). */
#if defined(__x86_64__)
#include <stdint.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma"))),    \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,fma,prefer-vector-width=512")
#endif
#include "kernels/simd/avx512.h"
#include "driver.h"

KERNEL_TABLE(avx512);
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
