/* device.h -- all that the CUDA trainer uses of a GPU.
 *
 * Memory, streams, events, graphs, the kernels of cuda/contract.h, matrix products, and kernels
 * compiled elsewhere. The trainer uses nothing else of CUDA. Two files implement this contract:
 *
 *     device/cuda/device.cc       the CUDA runtime and cuBLASLt
 *     device/emulated/device.cc   the same on the host, for machines without a GPU
 *
 * A Stream runs its calls later, in order. Streams are independent unless one waits for another's
 * event (stream_after). Only calls that return something report a failure: the device keeps its
 * first failure, later calls do nothing, and stream_wait returns -1. Only one thread at a time may
 * call, for all devices together.
 *
 * A graph keeps addresses and arguments by value as they are when it is captured. What may change
 * between two replays lies in device memory, or in pinned memory that a captured upload reads.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "kernels/cuda/contract.h"

#ifdef __cplusplus
extern "C" {
#endif

// Texts of errors and failures have PUFFER_ERROR_SIZE bytes: "what went bad\twhere"
typedef struct Device Device;
typedef struct Stream Stream;    // all of these live as long as their device
typedef struct Event Event;
typedef struct Graph Graph;
typedef struct Product Product;
typedef struct Program Program;    // kernels compiled elsewhere

typedef struct DeviceFacts {
    char name[128];          // "NVIDIA H100 80GB HBM3"
    int32_t major, minor;    // compute capability
    int32_t multiprocessors;
    int32_t driver, runtime;    // versions, 1000 major + 10 minor
    int32_t emulated;
    int64_t memory, unused;    // bytes in all, and of them not in use
    char unpinned[64];         // why device_pin was refused last; "" where it was not
} DeviceFacts;

enum {    // kinds of failures
    DEVICE_FINE,
    DEVICE_FAILED,
    DEVICE_STOPPED,
    DEVICE_OUT_OF_MEMORY,
    DEVICE_NO_BF16,
    DEVICE_BUSY,    // another process has it to itself
    DEVICE_FAULTS
};

int32_t device_count(char* error);    // -1 with a text where CUDA does not answer
Device* device_open(int32_t number, int32_t* fault, char* error);    // NULL with a kind and a text
void device_close(Device* device);    // waits, then frees all there is
// Lets two devices work together: streams of either may wait for events of the other and copy from
// its memory, and what one has pinned is pinned for both. Not within graphs. Neither is used after
// the other is closed
void device_meet(Device* device, Device* other);
void device_facts(Device* device, DeviceFacts* out);
const char* device_failure(const Device* device);    // the first failure's text, or NULL
int32_t device_fault(const Device* device);          // its kind, or DEVICE_FINE

// ---- memory: zeroed, on a line of 256 bytes, freed by device_close ----------------------------

void* device_memory(Device* device, size_t bytes);    // the GPU's; NULL if too little is left
void* device_pinned(Device* device, size_t bytes);    // the host's, which copies go straight to
int32_t device_pin(Device* device, void* memory, size_t bytes);    // whole pages of the
    // caller's; -1 where the system does not allow it (no failure)
void device_unpin(Device* device, void* memory);    // waits for the device first

// ---- streams -----------------------------------------------------------------------------------

Stream* stream_open(Device* device);    // with a workspace of its own for products
Event* event_open(Device* device);
void stream_mark(Stream* stream, Event* event);     // the event covers all calls until now
void stream_after(Stream* stream, Event* event);    // later calls run after it
int32_t stream_wait(Stream* stream);                // the host waits: 0, or -1 after a failure
int32_t event_wait(Event* event);                   // the same, for what an event marks

void stream_upload(Stream* stream, void* device_to, const void* host_from, size_t bytes);
void stream_download(Stream* stream, void* host_to, const void* device_from, size_t bytes);
void stream_copy(Stream* stream, void* device_to, const void* device_from, size_t bytes);
void stream_fill(Stream* stream, void* device_to, int32_t byte, size_t bytes);

enum {    // numbers of the kernels
#define DEVICE_NUMBER(NAME, ARGS) KERNEL_##NAME,
    CUDA_KERNELS(DEVICE_NUMBER)
#undef DEVICE_NUMBER
        KERNELS_OF_DEVICE
};

// args are copied. threads: of a block, at most CUDA_THREADS
void stream_launch(Stream* stream, int32_t kernel, const void* args, int32_t blocks,
                   int32_t threads);

// ---- programs: kernels compiled elsewhere ------------------------------------------------------

// A cubin; emulated: a shared library. NULL with a text, and the device goes on
Program* program_open(Device* device, const char* path, char* error);
int32_t program_kernel(Program* program, const char* name);    // its number, or -1

// A kernel of a program takes one struct by value: args, of so many bytes, which are copied. All
// that it points to is device memory. Emulated: a function (args, blocks, threads)
void stream_call(Stream* stream, Program* program, int32_t kernel, const void* args, size_t bytes,
                 int32_t blocks, int32_t threads);

// Sets the heap that malloc of all programs shares (emulated: passed to a program's
// puffer_envs_heap), and returns what it is now: another size where an earlier user of this GPU has
// set it, or memory is short; 0 where CUDA does not say. Call it before anything runs there
int64_t device_heap(Device* device, size_t bytes);

// Raises the stack of each thread of a program that recurses, to `each` bytes, or as many as are
// `all` together for as many threads as can be on the GPU at a time. Returns what it is now, 0 where
// CUDA does not say. Others need no call: their compiler knows what they take
int64_t device_stack(Device* device, size_t each, size_t all);

// ---- products: D = alpha op(A) op(B) + beta C, row-major ---------------------------------------

typedef struct ProductShape {
    const char* label;                       // for a profile; a constant text
    int32_t m, n, k;                         // op(A) is (m, k), op(B) is (k, n)
    int32_t transpose_a;                     // 1: A is stored (k, m)
    int32_t transpose_b;                     // 1: B is stored (n, k)
    int32_t lda, ldb, ldd;                   // elements between stored rows; C lies as D does
    int32_t batch;                           // so many products, 1 or more
    int64_t stride_a, stride_b, stride_d;    // elements between those
    int32_t narrow;    // 1: A and B are bf16. C and D are always float, sums as well
    int32_t beside;    // 1: where beta is not 0, C may be other memory than D
} ProductShape;

// The algorithm is chosen here, once: the same one each time, none that adds with atomics
Product* product_open(Device* device, const ProductShape* shape);
void stream_multiply(Stream* stream, const Product* product, float alpha, const void* A,
                     const void* B, float beta, const float* C, float* D);
// C is D, but for shapes that say otherwise, or NULL where beta is 0. It is fastest where rows
// and addresses are multiples of 16 bytes

// ---- graphs ------------------------------------------------------------------------------------

// Calls between these two are recorded, not run: this stream's, and those of streams that join by
// stream_after. Until the end: no waits; host memory is pinned; streams wait only for events of
// this graph, and nothing outside waits for those. In the end this stream waits for each that
// joined
void graph_begin(Stream* stream);
Graph* graph_end(Stream* stream);    // NULL after a failure
void stream_replay(Stream* stream, Graph* graph);
void graph_free(Graph* graph);    // NULL is fine; none of its replays may be under way

// ---- profiling --------------------------------------------------------------------------------

void device_range(Device* device, const char* name);    // NVTX: a range begins; NULL ends the last

typedef struct DeviceTally {    // of a kernel, a product or a kind of copy
    const char* name;
    int64_t calls;
    double seconds;
    double bytes;    // read and written, each operand once
    double flops;    // of products
} DeviceTally;

// From now on (or no more) each call is timed by itself. Not within a graph
void device_time(Device* device, int32_t on);
int32_t device_tally(Device* device, int32_t index, DeviceTally* out);    // since it was turned on;
                                                                          // 0: there are no more
double device_copy_rate(Device* device, size_t bytes);    // bytes/s read and written, best of some
double device_product_rate(Device* device, int32_t narrow);    // FLOP/s of a large product

#ifdef __cplusplus
}
#endif
