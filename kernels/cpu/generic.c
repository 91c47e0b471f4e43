/* generic.c -- the kernels in plain C: any machine, and the bits that a test pins. */
#include <stdint.h>
#include "kernels/simd/generic.h"
#include "driver.h"

KERNEL_TABLE(generic);
