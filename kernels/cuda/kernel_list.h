/* kernel_list.h -- the names and arguments of all kernels. A library of them includes it once. */
#pragma once
#include "contract.h"

#define NAME_KERNEL(NAME, ARGS)  #NAME,
#define SIZE_ARGS(NAME, ARGS)    (int64_t)sizeof(ARGS),
#define COUNT_KERNEL(NAME, ARGS) +1
enum { KERNEL_COUNT = 0 CUDA_KERNELS(COUNT_KERNEL) };

const char* cuda_kernel_name(int32_t number) {
    static const char* const names[KERNEL_COUNT] = {CUDA_KERNELS(NAME_KERNEL)};
    return number >= 0 && number < KERNEL_COUNT ? names[number] : NULL;
}

int64_t cuda_args_size(int32_t number) {
    static const int64_t sizes[KERNEL_COUNT] = {CUDA_KERNELS(SIZE_ARGS)};
    return number >= 0 && number < KERNEL_COUNT ? sizes[number] : -1;
}

static int launchable(int32_t number, int32_t blocks, int32_t threads) {
    return number >= 0 && number < KERNEL_COUNT && blocks > 0 && threads > 0
           && threads <= CUDA_THREADS;
}
