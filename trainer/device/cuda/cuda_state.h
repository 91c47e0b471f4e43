/* cuda_state.h -- what a device, its streams and all that lives with it are made of, and how a
 * failure is kept. For device.cc and the two files that it consists of besides itself. */
#pragma once
#include <cuda_runtime_api.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cublaslt.h"
#include "kernels/cuda/driver.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/measuring.h"
#include "kernels/cuda/traffic.h"
#include "trainer/device/device.h"
#include "puffer_abi.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define DEVICE_NVTX 1
#endif

// What cuBLAS recommends for Hopper and later; other GPUs want less, and it is little everywhere
#define WORKSPACE   ((size_t)32 << 20)
#define DEVICE_MOST 16    // that one works with

#define PROGRAM_KERNELS 16    // of a program, as far as anybody asked for them
#define PROGRAM_NAME    64

enum { COPY_UPLOAD, COPY_DOWNLOAD, COPY_DEVICE, COPY_FILL, COPIES };
enum { BLOCK_DEVICE, BLOCK_PINNED, BLOCK_REGISTERED };

typedef struct Block {    // memory that device_close gives back
    int kind;
    char* memory;
    size_t bytes;
    struct Block* next;
} Block;

struct Event {
    Device* device;
    cudaEvent_t event;
    int marked;
    int capture;    // the one it was marked in; 0: none, it marks what is done
    Event* next;
};

struct Stream {
    Device* device;
    cudaStream_t stream;
    void* workspace;     // WORKSPACE bytes
    int capture;         // the last one that it belonged to
    const char* last;    // what it was given last, for a failure that shows later
    Stream* next;
};

struct Graph {
    Device* device;
    cudaGraphExec_t exec;
    Graph* next;
};

typedef struct Plan {    // an algorithm, and what it asks of addresses
    LtAlgorithm algorithm;
    int usable;
    uint32_t alignment[3];    // bytes: of A and B as cuBLASLt sees them, of C and D
} Plan;

typedef struct Called {    // a kernel of a program
    char name[PROGRAM_NAME];
    CUfunction function;
    DeviceTally tally;
} Called;

struct Program {
    Device* device;
    CUmodule module;
    Called kernels[PROGRAM_KERNELS];
    int32_t count;
    Program* next;
};

enum { PLAN_ALIGNED, PLAN_ANY, PLANS };

typedef struct ProductTally {    // products of one label count together
    DeviceTally tally;
    struct ProductTally* next;
} ProductTally;

struct Product {
    Device* device;
    ProductShape shape;
    void* desc;
    void* layouts[3];    // of A and B as cuBLASLt sees them, of C and D
    Plan plans[PLANS];
    ProductTally* tally;
    Product* next;
};

struct Device {
    int number;
    DeviceFacts facts;
    char failure[PUFFER_ERROR_SIZE];
    int32_t failed;    // the kind of its first failure, or DEVICE_FINE
    LtLibrary lt;
    void* handle;         // cuBLASLt's
    cudaStream_t own;     // zeroes memory, where nobody waits for streams
    Stream* capturing;    // where a capture began that goes on
    int capture;          // its number, or the last one's
    int timing;
    cudaEvent_t began, ended;
    double between;              // seconds from one event to the next with no call between them
    Stream* bench;               // what rates are measured in
    Device* met[DEVICE_MOST];    // devices that it works with
    int met_count;
    DeviceTally kernels[KERNELS_OF_DEVICE], copies[COPIES];
    ProductTally* tallies;
    Block* blocks;
    Event* events;
    Stream* streams;
    Graph* graphs;
    Product* products;
    Program* programs;
};

static const Driver* driver;    // found when a device is opened

// ---- failures ---------------------------------------------------------------------------------

// Keeps the first: what, and after a tab where
static void keep_failure(Device* device, int32_t fault, const char* format, va_list list) {
    if (device->failed) return;
    device->failed = fault;
    int used = vsnprintf(device->failure, sizeof device->failure, format, list);
    if (used >= 0 && (size_t)used < sizeof device->failure)
        snprintf(device->failure + used, sizeof device->failure - (size_t)used, "\t%s",
                 device->facts.name);
}

static void fail_as(Device* device, int32_t fault, const char* format, ...) {
    va_list list;
    va_start(list, format);
    keep_failure(device, fault, format, list);
    va_end(list);
}

static void fail(Device* device, const char* format, ...) {
    va_list list;
    va_start(list, format);
    keep_failure(device, DEVICE_FAILED, format, list);
    va_end(list);
}

static int32_t fault_of(cudaError_t error, int32_t other) {
    return error == cudaErrorMemoryAllocation     ? DEVICE_OUT_OF_MEMORY
           : error == cudaErrorDevicesUnavailable ? DEVICE_BUSY
                                                  : other;
}

// True if CUDA agreed. what: "the kernel", which: "gates_step"
static bool agreed(Device* device, cudaError_t error, const char* what, const char* which) {
    if (error == cudaSuccess) return true;
    fail_as(device, fault_of(error, DEVICE_FAILED), "CUDA refused %s %s: %s (%s)", what, which,
            cudaGetErrorString(error), cudaGetErrorName(error));
    cudaGetLastError();    // said; the next call's error is its own
    return false;
}

// What the driver said, where it did not agree; true if it did
static bool refused(Device* device, CUresult status, const char* what, const char* which) {
    if (status == CUDA_SUCCESS) return false;
    fail_as(device, fault_of((cudaError_t)status, DEVICE_FAILED), "CUDA refused %s %s: %s (%s)",
            what, which, cuda_error_text(status), cuda_error_name(status));
    return true;
}

// The device is this thread's, and nothing has failed
static bool ready(Device* device) {
    return !device->failed
           && agreed(device, cudaSetDevice(device->number), "this thread", "the GPU");
}

static bool within(const Stream* stream) {    // a capture that goes on
    return stream->device->capturing && stream->capture == stream->device->capture;
}

template <typename T> static T* list(T** first) {
    T* made = (T*)calloc(1, sizeof *made);
    if (!made) return NULL;
    made->next = *first;
    return *first = made;
}

// A list's newest, taken back because what it should hold did not come about
template <typename T> static T* unlist(T** first) {
    T* old = *first;
    *first = old->next;
    free(old);
    return NULL;
}

static void no_memory(Device* device, const char* what) {
    fail_as(device, DEVICE_OUT_OF_MEMORY, "no memory is left for %s", what);
}
