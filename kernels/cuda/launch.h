/* launch.h -- what only a library for GPUs has: its cubins, and kernels that measure. */
#pragma once
#include <stdint.h>

typedef struct CudaCubin {
    int32_t arch;                  // 90 for compute capability 9.0; 0 behind the last
    const unsigned char* bytes;    // of a cubin, which says its own length
} CudaCubin;

extern "C" const CudaCubin cuda_cubins[];

// Launches one of measuring.h: 0, or a CUresult
int32_t cuda_measure(int32_t which, const void* args, int32_t blocks, int32_t threads,
                     void* stream);
