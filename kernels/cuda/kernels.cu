/* kernels.cu -- all CUDA kernels as one library: by nvcc for GPUs, by a C++ compiler (-x c++)
 * for the host, where shim.h makes loops of them. The same tests call both. */
#include "rollout.cuh"
#include "layers.cuh"
#include "heads.cuh"
#include "advantage.cuh"
#include "picking.cuh"
#include "optimizer.cuh"
#include <stdlib.h>

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

#if defined(__CUDACC__)

int32_t cuda_kind(void) { return CUDA_DEVICE; }

int32_t cuda_devices(void) {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

void* cuda_take(int64_t bytes) {
    void* memory = NULL;
    return cudaMallocManaged(&memory, (size_t)bytes) == cudaSuccess ? memory : NULL;
}

void cuda_give(void* memory) { cudaFree(memory); }

#define LAUNCH(NAME, ARGS)                                                                         \
    if (number == found++)                                                                         \
        NAME<<<(unsigned)blocks, (unsigned)threads, 0, (cudaStream_t)stream>>>(*(const ARGS*)args);

int32_t cuda_launch(int32_t number, const void* args, int32_t blocks, int32_t threads,
                    void* stream) {
    int found = 0;
    if (!launchable(number, blocks, threads)) return -1;
    CUDA_KERNELS(LAUNCH)
    return 0;
}

#define LOAD(NAME, ARGS)                                                                           \
    if (status == cudaSuccess) status = cudaFuncGetAttributes(&attributes, NAME);

int32_t cuda_load(void) {
    cudaFuncAttributes attributes;
    cudaError_t status = cudaSuccess;
    CUDA_KERNELS(LOAD)
    return (int32_t)status;
}

int32_t cuda_run(int32_t number, const void* args, int32_t blocks, int32_t threads, int32_t order) {
    (void)order;    // the device has its own
    if (cuda_launch(number, args, blocks, threads, NULL)) return -1;
    return cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess ? 0 : -1;
}

#else

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
