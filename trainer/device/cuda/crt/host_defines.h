/* host_defines.h -- the words that NVIDIA's own headers are written in, for a C++ compiler.
 *
 * Those of the runtime include this one, which comes with nvcc and not with the runtime. Where nvcc
 * is installed, its own stands beside them and is found first. */
#pragma once

#define __host__
#define __device__
#define __global__
#define __constant__
#define __forceinline__          __inline__ __attribute__((always_inline))
#define __align__(BYTES)         __attribute__((aligned(BYTES)))
#define __builtin_align__(BYTES) __align__(BYTES)
#define __cudart_builtin__
#define __device_builtin__
#define __device_builtin_surface_type__
#define __device_builtin_texture_type__
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDART_CB
