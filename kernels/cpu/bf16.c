/* bf16.c -- the kernels for x86-64 with AVX-512 BF16. */
#include "kernels/kernels.h"
#if KERNELS_BF16
#include <stdint.h>
#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,fma"))),                  \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,fma,prefer-vector-width=512")
#endif
#include "kernels/simd/avx512.h"
#define KERNEL_BF16
#include "driver.h"

KERNEL_TABLE(bf16);
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
