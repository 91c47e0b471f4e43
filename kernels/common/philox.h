/* philox.h -- random numbers by counter, for host and device: the same bits everywhere.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
 * 2011), keyed as puffer_sdk/philox.py states: counter (index, step low, step high, head), key
 * (seed low, seed high << 8 | purpose). Nothing is carried from one draw to the next.
 */
#pragma once
#include <stdint.h>

#if defined(__CUDACC__)
#define PHILOX_INLINE static __device__ __forceinline__
#else
#define PHILOX_INLINE static inline __attribute__((always_inline, unused))
#endif

enum { PHILOX_ACTION = 1, PHILOX_SHUFFLE, PHILOX_PRIORITY, PHILOX_INIT };

typedef struct {
    uint32_t word[4];
} PhiloxBlock;

PHILOX_INLINE PhiloxBlock philox_block(uint64_t seed, uint32_t purpose, uint32_t index,
                                       uint64_t step, uint32_t head) {
    uint32_t c0 = index, c1 = (uint32_t)step, c2 = (uint32_t)(step >> 32), c3 = head;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32) << 8 | purpose;
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)c0 * 0xD2511F53u, p1 = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    PhiloxBlock out = {{c0, c1, c2, c3}};
    return out;
}

// [0, 1), a multiple of 2^-24
PHILOX_INLINE float philox_unit(uint32_t word) { return (float)(word >> 8) * (1.0f / 16777216.0f); }
