/* kernels.cu -- all CUDA kernels: by NVRTC a cubin for GPUs, which launch.cc launches; by a C++
 * compiler (-x c++) a library for the host, where shim.h makes loops of them. The same tests call
 * both. */
#include "rollout.cuh"
#include "layers.cuh"
#include "heads.cuh"
#include "advantage.cuh"
#include "picking.cuh"
#include "optimizer.cuh"
#if defined(__CUDACC__)
#include "measuring.h"
#else
#include <stdlib.h>
#include "kernel_list.h"

int32_t cuda_kind(void) { return CUDA_SHIM; }
int32_t cuda_devices(void) { return 1; }
int32_t cuda_load(void) { return 0; }
void* cuda_take(int64_t bytes) { return malloc((size_t)bytes); }
void cuda_give(void* memory) { free(memory); }

// The numbers below n, each once: forward, backward, or in steps that have no divisor in common
// with n
static int turn(int i, int n, int order) {
    static const int steps[] = {127, 61, 29, 11, 7, 5, 3};
    if (order == 0) return i;
    if (order == 1) return n - 1 - i;
    for (int k = 0; k < 7; k++)
        if (n % steps[k]) return (int)(((int64_t)i * steps[k] + order) % n);
    return (i + order) % n;
}

#define LAUNCH(NAME, ARGS)                                                                         \
    if (number == found++) NAME(block, *(const ARGS*)args);

int32_t cuda_run(int32_t number, const void* args, int32_t blocks, int32_t threads, int32_t order) {
    int turns[CUDA_THREADS];
    if (!launchable(number, blocks, threads)) return -1;
    for (int i = 0; i < threads; i++) turns[i] = turn(i, threads, order);
    for (int i = 0; i < blocks; i++) {
        int found = 0;
        ShimBlock block = {turn(i, blocks, order), blocks, threads, turns};
        CUDA_KERNELS(LAUNCH)
    }
    return 0;
}

int32_t cuda_launch(int32_t number, const void* args, int32_t blocks, int32_t threads,
                    void* stream) {
    (void)stream;
    return cuda_run(number, args, blocks, threads, 0);
}

#endif
