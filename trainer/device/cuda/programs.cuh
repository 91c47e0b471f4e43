/* programs.cuh -- kernels compiled elsewhere: a cubin -> what a stream can be given.
 *
 * Only the driver loads a cubin. Its calls are asked of the runtime by name, which has the driver
 * open by then; so nothing here is linked against the driver, and the trainer's library loads on a
 * machine that has none. Types are those of cuda.h, which declares and needs nothing else.
 */
#pragma once
#include <errno.h>
#include "state.cuh"
#include "timing.cuh"

#define SINCE    12000    // the driver's calls as they were in this CUDA
#define RESIDENT 2048     // threads of a multiprocessor at a time, at most

// The name of each call after "cu", and what it takes. Status 0 is success
#define DRIVER_CALLS(X)                                                                            \
    X(ModuleLoadData, (CUmodule * module, const void* image))                                      \
    X(ModuleUnload, (CUmodule module))                                                             \
    X(ModuleGetFunction, (CUfunction * function, CUmodule module, const char* name))               \
    X(LaunchKernel, (CUfunction function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, \
                     unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,  \
                     CUstream stream, void** params, void** extra))                                \
    X(GetErrorName, (CUresult error, const char** name))                                           \
    X(GetErrorString, (CUresult error, const char** text))

static struct Driver {
#define DRIVER_MEMBER(NAME, TAKES) CUresult(CUDAAPI* NAME) TAKES;
    DRIVER_CALLS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
} driver;

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

// 0, or -1 with a text
static int32_t driver_find(char* error) {
#define DRIVER_FIND(NAME, TAKES)                                                                   \
    if (!driver.NAME) {                                                                            \
        void* found = driver_call("cu" #NAME);                                                     \
        if (!found) {                                                                              \
            snprintf(error, PUFFER_ERROR_SIZE, "the NVIDIA driver has no cu" #NAME);               \
            return -1;                                                                             \
        }                                                                                          \
        memcpy(&driver.NAME, &found, sizeof found);                                                \
    }
    DRIVER_CALLS(DRIVER_FIND)
#undef DRIVER_FIND
    return 0;
}

static const char* driver_name(CUresult status) {
    const char* name = NULL;
    return driver.GetErrorName(status, &name) == CUDA_SUCCESS && name ? name : "an unknown error";
}

static const char* driver_text(CUresult status) {
    const char* text = NULL;
    return driver.GetErrorString(status, &text) == CUDA_SUCCESS && text ? text : "no text";
}

// A file's bytes and a final zero; NULL with a text
static char* read_whole(const char* path, char* error) {
    FILE* file = fopen(path, "rb");
    char* bytes = NULL;
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) bytes = (char*)calloc(1, (size_t)size + 1);
    if (bytes && fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        free(bytes);
        bytes = NULL;
    }
    if (!bytes)
        snprintf(error, PUFFER_ERROR_SIZE, "the program cannot be read: %s\t%s", strerror(errno),
                 path);
    if (file) fclose(file);
    return bytes;
}

static void say_why(const Device* device, CUresult status, const char* path, char* error) {
    if (status == CUDA_ERROR_NO_BINARY_FOR_GPU)
        snprintf(error, PUFFER_ERROR_SIZE,
                 "the program was not compiled for this GPU, which is "
                 "sm_%d%d\t%s",
                 device->facts.major, device->facts.minor, path);
    else if (status == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED || status == CUDA_ERROR_OUT_OF_MEMORY)
        snprintf(error, PUFFER_ERROR_SIZE,
                 "the GPU has no memory left for the program and for "
                 "what its malloc may give\t%s",
                 path);
    else
        snprintf(error, PUFFER_ERROR_SIZE, "CUDA refused to load the program: %s (%s)\t%s",
                 driver_text(status), driver_name(status), path);
}

Program* program_open(Device* device, const char* path, char* error) {
    if (device->capturing) fail(device, "a program was opened within a graph");
    if (!ready(device)) {
        snprintf(error, PUFFER_ERROR_SIZE, "%s", device->failure);
        return NULL;
    }
    if (driver_find(error)) return NULL;
    char* image = read_whole(path, error);
    if (!image) return NULL;
    CUmodule module = NULL;
    Program* program = list(&device->programs);
    const CUresult status = program ? driver.ModuleLoadData(&module, image)
                                    : CUDA_ERROR_OUT_OF_MEMORY;
    free(image);    // the driver has its own copy
    if (status == CUDA_SUCCESS) {
        program->device = device;
        program->module = module;
        return program;
    }
    say_why(device, status, path, error);
    return program ? unlist(&device->programs) : NULL;
}

static void program_close(Program* program) { driver.ModuleUnload(program->module); }

int32_t program_kernel(Program* program, const char* name) {
    CUfunction function = NULL;
    if (!program || !ready(program->device) || strlen(name) >= PROGRAM_NAME) return -1;
    for (int32_t i = 0; i < program->count; i++)
        if (!strcmp(program->kernels[i].name, name)) return i;
    const CUresult status = driver.ModuleGetFunction(&function, program->module, name);
    if (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_FOUND)
        fail(program->device, "CUDA refused to find the kernel %s: %s (%s)", name,
             driver_text(status), driver_name(status));
    if (status != CUDA_SUCCESS || program->count == PROGRAM_KERNELS) return -1;
    Called* called = &program->kernels[program->count];
    memcpy(called->name, name, strlen(name) + 1);
    called->function = function;
    called->tally.name = called->name;
    return program->count++;
}

// The driver knows from the kernel how many bytes it takes, and copies them now
void stream_call(Stream* stream, Program* program, int32_t kernel, const void* args, size_t bytes,
                 int32_t blocks, int32_t threads) {
    (void)bytes;
    if (!stream || !program || !ready(stream->device)) return;
    Device* device = stream->device;
    if (kernel < 0 || kernel >= program->count || blocks < 1 || threads < 1) {
        fail(device, "the kernel %s cannot be launched as %d blocks of %d threads",
             kernel < 0 || kernel >= program->count ? "of that number"
                                                    : program->kernels[kernel].name,
             blocks, threads);
        return;
    }
    Called* called = &program->kernels[kernel];
    void* params[] = {const_cast<void*>(args)};
    stream->last = called->name;
    const bool time = timed(stream);
    if (time) time_begin(stream);
    if (device->failed) return;
    const CUresult status = driver.LaunchKernel(called->function, (unsigned)blocks, 1, 1,
                                                (unsigned)threads, 1, 1, 0, stream->stream, params,
                                                NULL);
    if (status != CUDA_SUCCESS)
        fail(device, "CUDA refused the kernel %s: %s (%s)", called->name, driver_text(status),
             driver_name(status));
    if (time) add(&called->tally, time_end(stream), 0, 0);
}

// The heap is laid out when the first program that has malloc is loaded, and stays as it is
int64_t device_heap(Device* device, size_t bytes) {
    size_t now = 0;
    if (!ready(device)) return 0;
    if (cudaDeviceSetLimit(cudaLimitMallocHeapSize, bytes) != cudaSuccess) cudaGetLastError();
    if (cudaDeviceGetLimit(&now, cudaLimitMallocHeapSize) != cudaSuccess) cudaGetLastError();
    return (int64_t)now;
}

// The driver keeps a stack for every thread that can be on the GPU, so this costs memory at once
int64_t device_stack(Device* device, size_t each, size_t all) {
    size_t now = 0;
    if (!ready(device)) return 0;
    const size_t share = all / ((size_t)device->facts.multiprocessors * RESIDENT);
    if (share < each) each = share & ~(size_t)1023;
    if (cudaDeviceGetLimit(&now, cudaLimitStackSize) != cudaSuccess) cudaGetLastError();
    if (each > now && cudaDeviceSetLimit(cudaLimitStackSize, each) != cudaSuccess)
        cudaGetLastError();
    if (cudaDeviceGetLimit(&now, cudaLimitStackSize) != cudaSuccess) cudaGetLastError();
    return (int64_t)now;
}
