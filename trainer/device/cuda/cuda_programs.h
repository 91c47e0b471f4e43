/* cuda_programs.h -- kernels compiled elsewhere: a cubin -> what a stream can be given. */
#pragma once
#include <errno.h>
#include "cuda_state.h"
#include "cuda_timing.h"

#define RESIDENT 2048    // threads of a multiprocessor at a time, at most

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
                 cuda_error_text(status), cuda_error_name(status), path);
}

Program* program_open(Device* device, const char* path, char* error) {
    if (device->capturing) fail(device, "a program was opened within a graph");
    if (!ready(device)) {
        snprintf(error, PUFFER_ERROR_SIZE, "%s", device->failure);
        return NULL;
    }
    char* image = read_whole(path, error);
    if (!image) return NULL;
    CUmodule module = NULL;
    Program* program = list(&device->programs);
    const CUresult status = program ? driver->ModuleLoadData(&module, image)
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

static void program_close(Program* program) { driver->ModuleUnload(program->module); }

int32_t program_kernel(Program* program, const char* name) {
    CUfunction function = NULL;
    if (!program || !ready(program->device) || strlen(name) >= PROGRAM_NAME) return -1;
    for (int32_t i = 0; i < program->count; i++)
        if (!strcmp(program->kernels[i].name, name)) return i;
    const CUresult status = driver->ModuleGetFunction(&function, program->module, name);
    if (status != CUDA_ERROR_NOT_FOUND)
        refused(program->device, status, "to find the kernel", name);
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
    refused(device,
            driver->LaunchKernel(called->function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1,
                                 0, stream->stream, params, NULL),
            "the kernel", called->name);
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
