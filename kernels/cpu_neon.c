/* cpu_neon.c -- the kernels for 64-bit ARM, where NEON is always there. */
#if defined(__aarch64__)
#include <stdint.h>
#include "simd_neon.h"
#include "cpu_driver.h"

KERNEL_TABLE(neon);
#endif
