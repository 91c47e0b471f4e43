/* launch.cc -- the kernels on a GPU: cubins that lie in this library -> launches.
 *
 * NVRTC has compiled kernels.cu once for each generation of GPU, and a file that is made then lists
 * the cubins (cuda_cubins). A GPU takes the one that was compiled for it. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <string.h>
#include "driver.h"
#include "kernel_list.h"
#include "launch.h"
#include "measuring.h"

#define SINCE   12000    // the driver's calls as they were in this CUDA
#define GPUS    64       // of a machine
#define CUBINS  8        // of a library
#define KERNELS (KERNEL_COUNT + MEASURES)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct Loaded {    // a cubin, by its place in cuda_cubins
    CUlibrary library;
    CUkernel kernels[KERNELS];
} loaded[CUBINS];
static struct Loaded* of_gpu[GPUS];

// ---- the driver -------------------------------------------------------------------------------

static Driver driver;

static void* driver_call(const char* name) {
    void* found = NULL;
    cudaDriverEntryPointQueryResult answer = cudaDriverEntryPointSuccess;
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, SINCE,
                                                               cudaEnableDefault, &answer);
#else
    const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &answer);
#endif
    if (error != cudaSuccess) cudaGetLastError();
    return error == cudaSuccess && answer == cudaDriverEntryPointSuccess ? found : NULL;
}

const Driver* cuda_driver(const char** missing) {
#define DRIVER_FIND(NAME, TAKES)                                                                   \
    if (!driver.NAME) {                                                                            \
        void* found = driver_call("cu" #NAME);                                                     \
        if (!found) return *missing = "cu" #NAME, (const Driver*)NULL;                             \
        memcpy(&driver.NAME, &found, sizeof found);                                                \
    }
    DRIVER_CALLS(DRIVER_FIND)
#undef DRIVER_FIND
    return &driver;
}

const char* cuda_error_name(CUresult status) {
    const char* name = NULL;
    return driver.GetErrorName(status, &name) == CUDA_SUCCESS && name ? name : "an unknown error";
}

const char* cuda_error_text(CUresult status) {
    const char* text = NULL;
    return driver.GetErrorString(status, &text) == CUDA_SUCCESS && text ? text : "no text";
}

// ---- loading ----------------------------------------------------------------------------------

static const char* name_of(int number) {
    static const char* const measures[MEASURES] = {"wait_until", "fill_noise"};
    return number < KERNEL_COUNT ? cuda_kernel_name(number) : measures[number - KERNEL_COUNT];
}

static CUresult load(struct Loaded* into, const unsigned char* cubin) {
    CUlibrary library = NULL;
    CUresult status = into->library
                          ? CUDA_SUCCESS
                          : driver.LibraryLoadData(&library, cubin, NULL, NULL, 0, NULL, NULL, 0);
    for (int i = 0; i < KERNELS && library && status == CUDA_SUCCESS; i++)
        status = driver.LibraryGetKernel(&into->kernels[i], library, name_of(i));
    if (status == CUDA_SUCCESS && library) into->library = library;
    // Its code is on this GPU now, not at its first launch
    for (int i = 0; i < KERNELS && status == CUDA_SUCCESS; i++) {
        CUfunction function;
        status = driver.KernelGetFunction(&function, into->kernels[i]);
    }
    return status;
}

static int32_t load_here(void) {
    const char* missing;
    int gpu = 0, major = 0, minor = 0;
    cudaError_t error = cudaGetDevice(&gpu);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu);
    if (error != cudaSuccess) return (int32_t)error;
    if (gpu >= GPUS) return CUDA_ERROR_INVALID_DEVICE;
    if (!cuda_driver(&missing)) return CUDA_ERROR_NOT_FOUND;
    for (int i = 0; i < CUBINS && cuda_cubins[i].arch; i++) {
        if (cuda_cubins[i].arch != 10 * major + minor) continue;
        const CUresult status = load(&loaded[i], cuda_cubins[i].bytes);
        if (status == CUDA_SUCCESS) of_gpu[gpu] = &loaded[i];
        return (int32_t)status;
    }
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

int32_t cuda_load(void) {
    pthread_mutex_lock(&lock);
    const int32_t status = load_here();
    pthread_mutex_unlock(&lock);
    return status;
}

// ---- launching --------------------------------------------------------------------------------

static int32_t launch(int number, const void* args, int32_t blocks, int32_t threads, void* stream) {
    int gpu = 0;
    void* params[] = {const_cast<void*>(args)};
    if (cudaGetDevice(&gpu) != cudaSuccess || gpu >= GPUS || !of_gpu[gpu])
        return CUDA_ERROR_NOT_INITIALIZED;
    return (int32_t)driver.LaunchKernel((CUfunction)of_gpu[gpu]->kernels[number], (unsigned)blocks,
                                        1, 1, (unsigned)threads, 1, 1, 0, (CUstream)stream, params,
                                        NULL);
}

int32_t cuda_launch(int32_t number, const void* args, int32_t blocks, int32_t threads,
                    void* stream) {
    return launchable(number, blocks, threads) ? launch(number, args, blocks, threads, stream) : -1;
}

int32_t cuda_measure(int32_t which, const void* args, int32_t blocks, int32_t threads,
                     void* stream) {
    return launch(KERNEL_COUNT + which, args, blocks, threads, stream);
}

int32_t cuda_run(int32_t number, const void* args, int32_t blocks, int32_t threads, int32_t order) {
    (void)order;    // the device has its own
    if (!launchable(number, blocks, threads) || (!of_gpu[0] && cuda_load())) return -1;
    return launch(number, args, blocks, threads, NULL) == 0
                   && cudaDeviceSynchronize() == cudaSuccess
               ? 0
               : -1;
}

int32_t cuda_kind(void) { return CUDA_DEVICE; }

int32_t cuda_devices(void) {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

void* cuda_take(int64_t bytes) {
    void* memory = NULL;
    return cudaMallocManaged(&memory, (size_t)bytes, cudaMemAttachGlobal) == cudaSuccess ? memory
                                                                                         : NULL;
}

void cuda_give(void* memory) { cudaFree(memory); }
