/* cpu_generic.c -- the kernels in plain C: any machine, and the bits that a test pins. */
#include <stdint.h>
#include "simd_generic.h"
#include "cpu_driver.h"

KERNEL_TABLE(generic);
