/* driver.h -- the driver's calls that load and launch kernels.
 *
 * Only the driver loads a cubin. Its calls are asked of the runtime by name, which has the driver
 * open by then; so nothing is linked against the driver, and a library of kernels loads on a
 * machine that has none. Types are those of cuda.h, which declares and needs nothing else. */
#pragma once
#include <cuda.h>

// The name of each call after "cu", and what it takes. Status 0 is success
#define DRIVER_CALLS(X)                                                                            \
    X(LibraryLoadData,                                                                             \
      (CUlibrary * library, const void* image, CUjit_option* options, void** values,               \
       unsigned count, CUlibraryOption* more, void** more_values, unsigned more_count))            \
    X(LibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char* name))                  \
    X(KernelGetFunction, (CUfunction * function, CUkernel kernel))                                 \
    X(ModuleLoadData, (CUmodule * module, const void* image))                                      \
    X(ModuleUnload, (CUmodule module))                                                             \
    X(ModuleGetFunction, (CUfunction * function, CUmodule module, const char* name))               \
    X(LaunchKernel, (CUfunction function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, \
                     unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,  \
                     CUstream stream, void** params, void** extra))                                \
    X(GetErrorName, (CUresult error, const char** name))                                           \
    X(GetErrorString, (CUresult error, const char** text))

typedef struct Driver {
#define DRIVER_MEMBER(NAME, TAKES) CUresult(CUDAAPI* NAME) TAKES;
    DRIVER_CALLS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
} Driver;

// NULL where one is missing, with its name
const Driver* cuda_driver(const char** missing);
const char* cuda_error_name(CUresult status);
const char* cuda_error_text(CUresult status);
