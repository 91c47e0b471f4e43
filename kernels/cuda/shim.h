/* shim.h -- the words that CUDA kernels are written in, for NVRTC and for a host compiler.
 *
 * A kernel is a list of phases. In a phase every thread of a block does its share, in any order;
 * behind a phase stands a barrier, so none can be forgotten. What one phase hands to the next lies
 * in shared or global memory, never in a thread's own variables. NVRTC makes threads of that; a host
 * compiler makes loops over threads, in an order that the caller chooses. A kernel whose result
 * depends on the order of threads or blocks has a race, and no other result may differ.
 *
 *     CUDA_KERNEL(name, Args) {           the arguments are `a`, the block's number is BLOCK
 *         CUDA_SHARED(float, tile, [32]);
 *         CUDA_BLOCKS(chunk, chunks) {    chunk = BLOCK, BLOCK + BLOCKS, ...
 *             CUDA_PHASE(thread)          thread = 0 to THREADS - 1
 *                 CUDA_SHARE(i, thread, 32) tile[i] = 0.0f;       i = thread, thread + THREADS ...
 *             CUDA_PHASE(thread) ...
 *         }
 *     }
 *
 *     CUDA_EACH(i, n)     a phase of all threads of all blocks: i = 0 to n - 1, n < 2^31
 *
 * No `break` or `return` in a phase, no phase under a condition that threads of a block may see
 * differently. No floating-point atomics: every sum has one order, whatever the grid.
 */
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__)

#define CUDA_ENTRY extern "C" __global__    // found by its name
#define CUDA_KERNEL(NAME, ARGS)                                                                    \
    CUDA_ENTRY void __launch_bounds__(CUDA_THREADS, CUDA_RESIDENT)                                 \
        NAME(const __grid_constant__ ARGS a)
#define CUDA_SHARED(TYPE, NAME, SHAPE) __shared__ TYPE NAME SHAPE
#define CUDA_UNROLL                    _Pragma("unroll")
#define BLOCK                          ((int)blockIdx.x)
#define BLOCKS                         ((int)gridDim.x)
#define THREADS                        ((int)blockDim.x)
#define CUDA_PHASE(thread)                                                                         \
    for (int thread = (int)threadIdx.x, phase_ = 0; phase_ == 0; phase_ = 1, __syncthreads())
#define CUDA_EACH(i, n)                                                                            \
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, end_ = (uint32_t)(n); i < end_;       \
         i += gridDim.x * blockDim.x)

// Integers alone: the least of them, and how many they are, is the same in any order
KERNEL_INLINE void cuda_least(uint64_t* place, uint64_t value) {
    atomicMin((unsigned long long*)place, (unsigned long long)value);
}
KERNEL_INLINE void cuda_count(uint64_t* place) { atomicAdd((unsigned long long*)place, 1ull); }

#else

typedef struct ShimBlock {
    int block, blocks, threads;
    const int* order;    // [threads] which thread's turn it is
} ShimBlock;

#define CUDA_KERNEL(NAME, ARGS) static void NAME(const ShimBlock& shim_, const ARGS& a)
#define CUDA_SHARED(TYPE, NAME, SHAPE)                                                             \
    TYPE NAME SHAPE;                                                                               \
    memset(NAME, 0xff, sizeof NAME)
#define CUDA_UNROLL
#define BLOCK   (shim_.block)
#define BLOCKS  (shim_.blocks)
#define THREADS (shim_.threads)
#define CUDA_PHASE(thread)                                                                         \
    for (int turn_ = 0, thread = 0; turn_ < shim_.threads && (thread = shim_.order[turn_], true);  \
         turn_++)
#define CUDA_EACH(i, n)                                                                            \
    for (int turn_ = 0; turn_ < shim_.threads; turn_++)                                            \
        for (uint32_t i = (uint32_t)(shim_.block * shim_.threads + shim_.order[turn_]),            \
                      end_ = (uint32_t)(n);                                                        \
             i < end_; i += (uint32_t)(shim_.blocks * shim_.threads))

KERNEL_INLINE void cuda_least(uint64_t* place, uint64_t value) {
    if (value < *place) *place = value;
}
KERNEL_INLINE void cuda_count(uint64_t* place) { ++*place; }

#endif

#define CUDA_BLOCKS(index, n)        for (int index = BLOCK; index < (n); index += BLOCKS)
#define CUDA_SHARE(index, thread, n) for (int index = thread; index < (n); index += THREADS)
