/* device.cc -- device.h kept by the CUDA runtime and cuBLASLt. In: calls. Out: work on a GPU.
 *
 * Streams do not wait for the legacy stream, nor it for them. The GPU is chosen anew by each call,
 * because CUDA keeps that choice for each thread by itself. The text of a failure is complete when
 * the call that found it returns; work that fails on the GPU is found by the next wait.
 */
#include "cuda_state.h"
#include "cuda_timing.h"
#include "cuda_products.h"
#include "cuda_programs.h"

// ---- opening ----------------------------------------------------------------------------------

static const char* shown_version(int version, char text[16]) {
    snprintf(text, 16, "%d.%d", version / 1000, version % 1000 / 10);
    return text;
}

int32_t device_count(char* error) {
    int count = 0, driver = 0, runtime = 0;
    char has[16], needs[16];
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess) return count;
    cudaGetLastError();
    if (status == cudaErrorNoDevice) return 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    shown_version(driver, has);
    shown_version(runtime, needs);
    if (driver == 0)
        snprintf(error, PUFFER_ERROR_SIZE, "there is no NVIDIA driver on this machine");
    else if (status == cudaErrorInsufficientDriver)
        snprintf(error, PUFFER_ERROR_SIZE,
                 "the NVIDIA driver is for CUDA %s, and the trainer was "
                 "compiled by CUDA %s",
                 has, needs);
    else
        snprintf(error, PUFFER_ERROR_SIZE, "CUDA does not answer: %s (%s)\tdriver for CUDA %s",
                 cudaGetErrorString(status), cudaGetErrorName(status), has);
    return -1;
}

static void learn_facts(Device* device) {
    cudaDeviceProp properties;
    DeviceFacts* facts = &device->facts;
    if (!agreed(device, cudaGetDeviceProperties(&properties, device->number), "to describe",
                "the GPU"))
        return;
    snprintf(facts->name, sizeof facts->name, "%.127s", properties.name);
    facts->major = properties.major;
    facts->minor = properties.minor;
    facts->multiprocessors = properties.multiProcessorCount;
    facts->memory = (int64_t)properties.totalGlobalMem;
    agreed(device, cudaDriverGetVersion(&facts->driver), "to tell", "the driver's version");
    agreed(device, cudaRuntimeGetVersion(&facts->runtime), "to tell", "the runtime's version");
}

static void open_products(Device* device) {
    char error[1024];
    if (lt_open(&device->lt, CUDART_VERSION / 1000, error, sizeof error)) {
        fail(device, "cuBLASLt does not load: %s", error);
        return;
    }
    const int status = device->lt.Create(&device->handle);
    if (status) {
        device->handle = NULL;
        fail_as(device, lt_fault(status, DEVICE_FAILED), "cuBLASLt does not begin: %s",
                device->lt.GetStatusName(status));
    }
}

// Without code for this GPU each launch would fail, and name a kernel that has no fault
static void load_kernels(Device* device) {
    const char* missing;
    driver = cuda_driver(&missing);
    const CUresult status = driver ? (CUresult)cuda_load() : CUDA_ERROR_NOT_FOUND;
    if (!driver) fail(device, "the NVIDIA driver has no %s", missing);
    else if (status == CUDA_ERROR_NO_BINARY_FOR_GPU)
        fail(device, "the trainer was not compiled for this GPU, which is sm_%d%d",
             device->facts.major, device->facts.minor);
    else refused(device, status, "to load", "the kernels");
}

static void open_all(Device* device) {
    if (!ready(device)) return;
    learn_facts(device);
    if (device->failed) return;
    load_kernels(device);
    if (!device->failed
        && agreed(device, cudaStreamCreateWithFlags(&device->own, cudaStreamNonBlocking), "to make",
                  "a stream")
        && agreed(device, cudaEventCreate(&device->began), "to make", "an event")
        && agreed(device, cudaEventCreate(&device->ended), "to make", "an event"))
        open_products(device);
}

Device* device_open(int32_t number, int32_t* fault, char* error) {
    const int32_t count = device_count(error);
    *fault = DEVICE_FAILED;
    if (count < 0) return NULL;
    if (number < 0 || number >= count) {
        snprintf(error, PUFFER_ERROR_SIZE, "there is no GPU %d: CUDA sees %d", number, count);
        return NULL;
    }
    Device* device = (Device*)calloc(1, sizeof *device);
    if (!device) {
        *fault = DEVICE_OUT_OF_MEMORY;
        snprintf(error, PUFFER_ERROR_SIZE, "no memory is left for a device");
        return NULL;
    }
    device->number = number;
    open_all(device);
    if (!device->failed) return device;
    *fault = device->failed;
    snprintf(error, PUFFER_ERROR_SIZE, "%s", device->failure);
    device_close(device);
    return NULL;
}

template <typename T> static void free_list(T* first) {
    while (first) {
        T* next = first->next;
        free(first);
        first = next;
    }
}

// Errors are ignored here: after a failure CUDA refuses much of this
void device_close(Device* device) {
    if (!device) return;
    cudaSetDevice(device->number);
    if (device->capturing) {
        cudaGraph_t graph = NULL;
        cudaStreamEndCapture(device->capturing->stream, &graph);
        if (graph) cudaGraphDestroy(graph);
    }
    cudaDeviceSynchronize();
    for (Graph* graph = device->graphs; graph; graph = graph->next)
        cudaGraphExecDestroy(graph->exec);
    for (Product* product = device->products; product; product = product->next)
        product_close(device, product);
    for (Program* program = device->programs; program; program = program->next)
        program_close(program);
    for (Event* event = device->events; event; event = event->next) cudaEventDestroy(event->event);
    for (Stream* stream = device->streams; stream; stream = stream->next) {
        cudaStreamDestroy(stream->stream);
        cudaFree(stream->workspace);
    }
    for (Block* block = device->blocks; block; block = block->next) {
        if (block->kind == BLOCK_DEVICE) cudaFree(block->memory);
        else if (block->kind == BLOCK_PINNED) cudaFreeHost(block->memory);
        else cudaHostUnregister(block->memory);
    }
    if (device->handle) device->lt.Destroy(device->handle);
    if (device->began) cudaEventDestroy(device->began);
    if (device->ended) cudaEventDestroy(device->ended);
    if (device->own) cudaStreamDestroy(device->own);
    cudaGetLastError();
    free_list(device->graphs);
    free_list(device->products);
    free_list(device->programs);
    free_list(device->events);
    free_list(device->streams);
    free_list(device->blocks);
    free_list(device->tallies);
    free(device);
}

// Without a way of its own from GPU to GPU a copy goes through the host: slower, and as right
static void open_way(Device* device, Device* other) {
    int possible = 0;
    if (!ready(device)
        || !agreed(device, cudaDeviceCanAccessPeer(&possible, device->number, other->number),
                   "to tell", "of another GPU")
        || !possible)
        return;
    const cudaError_t status = cudaDeviceEnablePeerAccess(other->number, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) cudaGetLastError();
    else agreed(device, status, "a way to", other->facts.name);
}

void device_meet(Device* device, Device* other) {
    if (device->met_count == DEVICE_MOST || other->met_count == DEVICE_MOST) {
        fail(device, "more than %d devices would work together", DEVICE_MOST);
        return;
    }
    device->met[device->met_count++] = other;
    other->met[other->met_count++] = device;
    if (device->number == other->number) return;    // one GPU, twice
    open_way(device, other);
    open_way(other, device);
}

void device_facts(Device* device, DeviceFacts* out) {
    size_t unused = 0, all = 0;
    *out = device->facts;
    const bool asks = ready(device) || device->failed == DEVICE_OUT_OF_MEMORY;    // it goes on
    if (asks && agreed(device, cudaMemGetInfo(&unused, &all), "to tell", "its memory"))
        out->unused = (int64_t)unused;
}

const char* device_failure(const Device* device) { return device->failed ? device->failure : NULL; }

int32_t device_fault(const Device* device) { return device->failed; }

// ---- memory -----------------------------------------------------------------------------------

// True if there was enough; false without a failure if there was not
static bool enough(Device* device, cudaError_t error, const char* what) {
    if (error == cudaErrorMemoryAllocation) return cudaGetLastError(), false;
    return agreed(device, error, what, "memory");
}

void* device_memory(Device* device, size_t bytes) {
    void* memory = NULL;
    const size_t whole = bytes ? bytes : 1;
    if (!ready(device)) return NULL;
    Block* block = list(&device->blocks);
    if (!block) return NULL;
    if (!enough(device, cudaMalloc(&memory, whole), "to give")) return unlist(&device->blocks);
    *block = (Block){BLOCK_DEVICE, (char*)memory, whole, block->next};
    // The zeros are there before any stream can look
    if (agreed(device, cudaMemsetAsync(memory, 0, whole, device->own), "to zero", "memory"))
        agreed(device, cudaStreamSynchronize(device->own), "to zero", "memory");
    return device->failed ? NULL : memory;
}

void* device_pinned(Device* device, size_t bytes) {
    void* memory = NULL;
    const size_t whole = bytes ? bytes : 1;
    if (!ready(device)) return NULL;
    Block* block = list(&device->blocks);
    if (!block) return NULL;
    if (!enough(device, cudaHostAlloc(&memory, whole, cudaHostAllocPortable), "to lock"))
        return unlist(&device->blocks);
    *block = (Block){BLOCK_PINNED, (char*)memory, whole, block->next};
    memset(memory, 0, whole);
    return memory;
}

int32_t device_pin(Device* device, void* memory, size_t bytes) {
    if (!ready(device) || !bytes) return -1;
    Block* block = list(&device->blocks);
    if (!block) return -1;
    const cudaError_t error = cudaHostRegister(memory, bytes, cudaHostRegisterPortable);
    if (error == cudaSuccess) {
        *block = (Block){BLOCK_REGISTERED, (char*)memory, bytes, block->next};
        return 0;
    }
    // Systems and containers refuse it for many reasons, and copies work without it. A failure
    // that outlives the call is another matter
    unlist(&device->blocks);
    cudaGetLastError();
    snprintf(device->facts.unpinned, sizeof device->facts.unpinned, "%s", cudaGetErrorName(error));
    agreed(device, cudaStreamSynchronize(device->own), "to lock", "memory of the host");
    return -1;
}

// After a failure too: the memory's owner is about to free it
void device_unpin(Device* device, void* memory) {
    for (Block** place = &device->blocks; *place; place = &(*place)->next) {
        Block* block = *place;
        if (block->kind != BLOCK_REGISTERED || block->memory != memory) continue;
        cudaSetDevice(device->number);
        agreed(device, cudaDeviceSynchronize(), "to wait", "before memory is unlocked");
        agreed(device, cudaHostUnregister(memory), "to unlock", "memory of the host");
        *place = block->next;
        free(block);
        return;
    }
}

static bool pinned_by(const Device* device, const void* memory, size_t bytes) {
    const uintptr_t first = (uintptr_t)memory;
    for (const Block* block = device->blocks; block; block = block->next) {
        const uintptr_t start = (uintptr_t)block->memory;
        if (block->kind != BLOCK_DEVICE && first >= start && first + bytes <= start + block->bytes)
            return true;
    }
    return false;
}

static bool is_pinned(const Device* device, const void* memory, size_t bytes) {
    bool pinned = pinned_by(device, memory, bytes);
    for (int i = 0; i < device->met_count; i++) pinned |= pinned_by(device->met[i], memory, bytes);
    return pinned;
}

// ---- streams and events -----------------------------------------------------------------------

Stream* stream_open(Device* device) {
    if (!ready(device)) return NULL;
    Stream* stream = list(&device->streams);
    if (!stream) return no_memory(device, "a stream"), nullptr;
    stream->device = device;
    stream->last = "nothing";
    if (agreed(device, cudaStreamCreateWithFlags(&stream->stream, cudaStreamNonBlocking), "to make",
               "a stream")) {
        if (enough(device, cudaMalloc(&stream->workspace, WORKSPACE), "to give")) return stream;
        no_memory(device, "a stream's workspace (32 MiB of the GPU)");
        cudaStreamDestroy(stream->stream);
    }
    return unlist(&device->streams);
}

Event* event_open(Device* device) {
    if (!ready(device)) return NULL;
    Event* event = list(&device->events);
    if (!event) return no_memory(device, "an event"), nullptr;
    event->device = device;
    if (agreed(device, cudaEventCreateWithFlags(&event->event, cudaEventDisableTiming), "to make",
               "an event"))
        return event;
    return unlist(&device->events);
}

// A mark that was made in a capture names a point of that graph, which only its own streams know
void stream_mark(Stream* stream, Event* event) {
    if (!stream || !event || !ready(stream->device)) return;
    if (!agreed(stream->device, cudaEventRecord(event->event, stream->stream), "to mark",
                "an event"))
        return;
    event->marked = 1;
    event->capture = within(stream) ? stream->device->capture : 0;
}

void stream_after(Stream* stream, Event* event) {
    if (!stream || !event || !event->marked || !ready(stream->device)) return;
    Device* device = stream->device;
    const bool captured = device == event->device && device->capturing
                          && event->capture == device->capture;
    if (event->capture && !captured) {
        fail(device, "a stream was told to come after a mark that only a graph knows");
        return;
    }
    if (within(stream) && !captured) {
        fail(device, "within a graph, a stream was told to come after what is not in it");
        return;
    }
    if (agreed(device, cudaStreamWaitEvent(stream->stream, event->event, 0), "to go on after",
               "an event")
        && captured)
        stream->capture = device->capture;
}

// What failed on the GPU shows here, and may be anything since the last wait
static int32_t waited(Device* device, cudaError_t error, const char* last) {
    if (error != cudaSuccess) {
        cudaGetLastError();
        fail_as(device, fault_of(error, DEVICE_STOPPED),
                "the GPU stopped: %s (%s); the last that it was given was %s",
                cudaGetErrorString(error), cudaGetErrorName(error), last);
    }
    return device->failed ? -1 : 0;
}

int32_t stream_wait(Stream* stream) {
    if (!stream || !ready(stream->device)) return -1;
    if (within(stream)) return fail(stream->device, "a wait within a graph"), -1;
    return waited(stream->device, cudaStreamSynchronize(stream->stream), stream->last);
}

int32_t event_wait(Event* event) {
    if (!event || !ready(event->device)) return -1;
    if (!event->marked) return 0;
    if (event->capture) return fail(event->device, "a wait for a mark that only a graph knows"), -1;
    return waited(event->device, cudaEventSynchronize(event->event), "before an event");
}

// ---- what a stream is given -------------------------------------------------------------------

static void copy(Stream* stream, int kind, void* to, const void* from, size_t bytes) {
    static const cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                           cudaMemcpyDefault};    // perhaps another device's
    static const char* const names[] = {"upload", "download", "copy"};
    const void* host = kind == COPY_UPLOAD ? from : to;
    if (!stream || !bytes || !ready(stream->device)) return;
    Device* device = stream->device;
    // A replay reads it by itself, whenever that is: pages must not move
    if (within(stream) && kind != COPY_DEVICE && !is_pinned(device, host, bytes)) {
        fail(device, "within a graph, %s needs pinned memory of the host", names[kind]);
        return;
    }
    stream->last = names[kind];
    const bool time = timed(stream);
    if (time) time_begin(stream);
    if (!device->failed)
        agreed(device, cudaMemcpyAsync(to, from, bytes, kinds[kind], stream->stream), "to",
               names[kind]);
    if (time)
        add(&device->copies[kind], time_end(stream),
            (kind == COPY_DEVICE ? 2.0 : 1.0) * (double)bytes, 0);
}

void stream_upload(Stream* stream, void* device_to, const void* host_from, size_t bytes) {
    copy(stream, COPY_UPLOAD, device_to, host_from, bytes);
}

void stream_download(Stream* stream, void* host_to, const void* device_from, size_t bytes) {
    copy(stream, COPY_DOWNLOAD, host_to, device_from, bytes);
}

void stream_copy(Stream* stream, void* device_to, const void* device_from, size_t bytes) {
    copy(stream, COPY_DEVICE, device_to, device_from, bytes);
}

void stream_fill(Stream* stream, void* device_to, int32_t byte, size_t bytes) {
    if (!stream || !bytes || !ready(stream->device)) return;
    Device* device = stream->device;
    stream->last = "fill";
    const bool time = timed(stream);
    if (time) time_begin(stream);
    if (!device->failed)
        agreed(device, cudaMemsetAsync(device_to, byte, bytes, stream->stream), "to", "fill");
    if (time) add(&device->copies[COPY_FILL], time_end(stream), (double)bytes, 0);
}

void stream_launch(Stream* stream, int32_t kernel, const void* args, int32_t blocks,
                   int32_t threads) {
    if (!stream || !ready(stream->device)) return;
    Device* device = stream->device;
    const char* name = cuda_kernel_name(kernel);
    if (name) stream->last = name;
    const bool time = timed(stream) && name;
    if (time) time_begin(stream);
    if (device->failed) return;
    const int32_t status = cuda_launch(kernel, args, blocks, threads, stream->stream);
    if (status < 0)
        fail(device, "the kernel %s cannot be launched as %d blocks of %d threads",
             name ? name : "of that number", blocks, threads);
    else refused(device, (CUresult)status, "the kernel", name);
    if (time) add(&device->kernels[kernel], time_end(stream), cuda_traffic(kernel, args), 0);
}

void stream_multiply(Stream* stream, const Product* product, float alpha, const void* A,
                     const void* B, float beta, const float* C, float* D) {
    if (!stream || !product || !ready(stream->device)) return;
    const bool time = timed(stream);
    if (time) time_begin(stream);
    if (!stream->device->failed) multiply(stream, product, alpha, A, B, beta, C, D);
    if (time)
        add(&product->tally->tally, time_end(stream), product_bytes(product, beta),
            product_flops(&product->shape));
}

// ---- graphs -----------------------------------------------------------------------------------

// Relaxed: nothing that CUDA would forbid meanwhile is waited for by what is captured. A kernel's
// code may be loaded at its first launch, and env threads may use CUDA for their own ends
void graph_begin(Stream* stream) {
    if (!stream || !ready(stream->device)) return;
    Device* device = stream->device;
    if (device->capturing) {
        fail(device, "a graph was begun within a graph");
        return;
    }
    if (!agreed(device, cudaStreamBeginCapture(stream->stream, cudaStreamCaptureModeRelaxed),
                "to begin", "a graph"))
        return;
    device->capturing = stream;
    stream->capture = ++device->capture;
}

// A failure meanwhile leaves the stream as one that can be closed
Graph* graph_end(Stream* stream) {
    cudaGraph_t captured = NULL;
    if (!stream || stream->device->capturing != stream) {
        if (stream && ready(stream->device))
            fail(stream->device, "a graph was ended that was not begun in this stream");
        return NULL;
    }
    Device* device = stream->device;
    cudaSetDevice(device->number);
    const cudaError_t status = cudaStreamEndCapture(stream->stream, &captured);
    device->capturing = NULL;
    if (status == cudaErrorStreamCaptureUnjoined) {
        cudaGetLastError();
        fail(device, "a stream that a graph went to did not come back before its end");
    }
    agreed(device, status, "the end of", "a graph");
    Graph* graph = device->failed ? NULL : list(&device->graphs);
    if (graph) {
        graph->device = device;
        // Uploaded now, so that no replay allocates
        if (!agreed(device, cudaGraphInstantiate(&graph->exec, captured, 0), "to make", "a graph"))
            graph = unlist(&device->graphs);
        else agreed(device, cudaGraphUpload(graph->exec, stream->stream), "to upload", "a graph");
    } else if (!device->failed) {
        no_memory(device, "a graph");
    }
    if (captured) cudaGraphDestroy(captured);
    return device->failed ? NULL : graph;
}

void stream_replay(Stream* stream, Graph* graph) {
    if (!stream || !graph || !ready(stream->device)) return;
    if (within(stream)) {
        fail(stream->device, "a graph was replayed within a graph");
        return;
    }
    stream->last = "a graph";
    agreed(stream->device, cudaGraphLaunch(graph->exec, stream->stream), "to replay", "a graph");
}

void graph_free(Graph* graph) {
    if (!graph) return;
    Graph** place = &graph->device->graphs;
    while (*place && *place != graph) place = &(*place)->next;
    if (!*place) return;
    *place = graph->next;
    cudaSetDevice(graph->device->number);
    agreed(graph->device, cudaGraphExecDestroy(graph->exec), "to free", "a graph");
    free(graph);
}
