/* puffer_prelude.h -- comes before every line of an environment library (-include).
 *
 * Old environments draw their dice with rand(), which all envs and threads of a process share:
 * no run could be repeated. Here rand(), srand(), random() and raylib's GetRandomValue() act on
 * a generator that belongs to the env that is running. vecenv.h points at it before each call.
 */
#pragma once
#include <stdint.h>
#include <stdlib.h>    // declares the real ones first, then they are renamed

#include "puffer_final.h"

#ifdef PUFFER_LIBRARY

// The generator of the env that this thread is inside of; never NULL
static uint32_t puffer_rand_spare;
static __thread uint32_t* puffer_rand_state = &puffer_rand_spare;

// PCG-RXS-M-XS-32 (O'Neill 2014): 32 bits of state, every seed good. [0, RAND_MAX]
static inline int puffer_rand(void) {
    uint32_t old = *puffer_rand_state;
    *puffer_rand_state = old * 747796405u + 2891336453u;
    uint32_t word = ((old >> ((old >> 28) + 4u)) ^ old) * 277803737u;
    return (int)(((word >> 22) ^ word) >> 1);
}

static inline void puffer_srand(unsigned int seed) { *puffer_rand_state = seed; }

// raylib's GetRandomValue: an integer in [lo, hi], both included, in either order
static inline int puffer_random_value(int lo, int hi) {
    if (lo > hi) {
        int swap = lo;
        lo = hi;
        hi = swap;
    }
    return lo + (int)((int64_t)puffer_rand() % ((int64_t)hi - lo + 1));
}

#ifdef PUFFER_ALIGNED    // bytes: a type of the author's asks for more than malloc gives
#include <string.h>

static inline void* puffer_aligned(size_t size) {
    void* block = NULL;
    return posix_memalign(&block, PUFFER_ALIGNED, size) == 0 ? block : NULL;
}

static inline void* puffer_cleared(size_t count, size_t size) {
    size_t all;
    void* block = __builtin_mul_overflow(count, size, &all) ? NULL : puffer_aligned(all);
    return block ? memset(block, 0, all) : NULL;
}

#define malloc(size)        puffer_aligned(size)
#define calloc(count, size) puffer_cleared(count, size)
#endif

#define rand()        puffer_rand()
#define srand(seed)   puffer_srand(seed)
#define random()      ((long)puffer_rand())
#define srandom(seed) puffer_srand(seed)

#endif
