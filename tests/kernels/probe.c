/* probe.c -- see probe.h. */
#include "probe.h"
#include "kernels/common/philox.h"

extern const Kernels kernels_scalar;

const Kernels* probe_find(int path) {
    if (path == KERNELS_PATHS) return &kernels_scalar;
    return path == KERNELS_PATHS + 1 ? kernels_find(KERNELS_AUTO, 1) : kernels_find(path, 0);
}

void probe_philox(int count, uint64_t seed, uint32_t purpose, const uint32_t* index,
                  uint64_t step, uint32_t head, uint32_t* words) {
    for (int i = 0; i < count; i++) {
        PhiloxBlock block = philox_block(seed, purpose, index[i], step, head);
        for (int j = 0; j < 4; j++) words[4 * i + j] = block.word[j];
    }
}
