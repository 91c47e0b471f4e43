/* dispatch.c -- which kernels this CPU can run. */
#include "kernels/kernels.h"
#include <stddef.h>

extern const Kernels kernels_generic;
#if defined(__x86_64__)
extern const Kernels kernels_avx2, kernels_avx512;
#elif defined(__aarch64__)
extern const Kernels kernels_neon;
#endif

#if KERNELS_BF16
extern const Kernels kernels_bf16;
#endif

static const Kernels* find_bf16(int path) {
#if KERNELS_BF16
    __builtin_cpu_init();
    if ((path == KERNELS_AUTO || path == KERNELS_AVX512) && __builtin_cpu_supports("avx512bf16"))
        return &kernels_bf16;
#endif
    (void)path;
    return NULL;
}

const Kernels* kernels_find(int path, int bf16) {
    const Kernels* found[KERNELS_PATHS] = {NULL};
    if (bf16) return find_bf16(path);
    found[KERNELS_GENERIC] = &kernels_generic;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found[KERNELS_AVX2] = &kernels_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        found[KERNELS_AVX512] = &kernels_avx512;
#elif defined(__aarch64__)
    found[KERNELS_NEON] = &kernels_neon;
#endif
    if (path < 0 || path >= KERNELS_PATHS) return NULL;
    if (path != KERNELS_AUTO) return found[path];
    for (int best = KERNELS_PATHS - 1; best > KERNELS_GENERIC; best--)
        if (found[best]) return found[best];
    return found[KERNELS_GENERIC];
}
