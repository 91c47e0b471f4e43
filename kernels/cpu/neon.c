/* neon.c -- the kernels for 64-bit ARM, where NEON is always there. */
#if defined(__aarch64__)
#include <stdint.h>
#include "kernels/simd/neon.h"
#include "driver.h"

KERNEL_TABLE(neon);
#endif
