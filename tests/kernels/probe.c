/* probe.c -- see probe.h. */
#include "probe.h"
#include "philox.h"

extern const Kernels kernels_scalar;

const Kernels* probe_find(int path) {
    return path == KERNELS_PATHS ? &kernels_scalar : kernels_find(path);
}

void probe_philox(int count, uint64_t seed, uint32_t purpose, const uint32_t* index,
                  uint64_t step, uint32_t head, uint32_t* words) {
    for (int i = 0; i < count; i++) {
        PhiloxBlock block = philox_block(seed, purpose, index[i], step, head);
        for (int j = 0; j < 4; j++) words[4 * i + j] = block.word[j];
    }
}
