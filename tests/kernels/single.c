/* single.c -- all kernels made of simd_scalar.h. */
#include "simd_single.h"
#include "cpu_driver.h"

KERNEL_TABLE(scalar);
