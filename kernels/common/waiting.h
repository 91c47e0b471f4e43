/* waiting.h -- which agents wait for their turn. */
#pragma once
#include "kernels/common/inline.h"
#include <stdint.h>

// Whether a mask of A bytes allows nothing at all: its agent cannot act on this tick
KERNEL_INLINE int mask_waits(const uint8_t* mask, int A) {
    for (int j = 0; j < A; j++)
        if (mask[j]) return 0;
    return 1;
}
