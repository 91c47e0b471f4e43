/* single.c -- all kernels made of simd/scalar.h. */
#include "simd_single.h"
#include "kernels/cpu/driver.h"

KERNEL_TABLE(scalar);
