/* device.cc -- the contract of device.h on the host: calls are queued, and done later.
 *
 * It finds what a program forgets. A Stream is a queue. PUFFER_CUDA_EMULATED sets when queued
 * calls run, always as the contract allows:
 *
 *     late        (the default) when the host, or a stream that the host waits for, waits for it
 *     early       at once
 *     shuffled    a little of some streams at each call; PUFFER_CUDA_EMULATED_SEED picks which
 *
 * A missing wait, or a pinned buffer used again too soon, gives other numbers in at least one of
 * them. A host that touches device memory crashes: it is open only while queued calls run (closed
 * after each run at first, later now and then). A kernel that leaves its block crashes on the page
 * after it. What a GPU would refuse is a failure here: host pointers instead of the device's, waits
 * while a graph is captured, and so on. PUFFER_CUDA_EMULATED_MEMORY=BYTES limits device memory;
 * PUFFER_CUDA_EMULATED_PIN=0 refuses to pin the caller's memory;
 * PUFFER_CUDA_EMULATED_GPUS devices exist, each with its own memory and queues.
 *
 * Kernels are loops (cuda/shim.h), in another order of blocks and threads at each call. A program
 * is a shared library whose kernels are functions (args, blocks, threads). */
#include <dlfcn.h>
#include <unistd.h>
#include <cmath>
#include "kernels/cuda/traffic.h"
#include "products.h"
#include "queues.h"
#include "puffer_abi.h"

#define PROCESSORS 2      // multiprocessors
#define WORKSPACE  256    // bytes of a stream

extern "C" {

// ---- the device ---------------------------------------------------------------------------------

int32_t device_count(char*) {
    const char* count = getenv("PUFFER_CUDA_EMULATED_GPUS");
    return count && *count ? atoi(count) : 1;
}

Device* device_open(int32_t number, int32_t* fault, char* error) {
    *fault = DEVICE_FAILED;
    const char* mode = getenv("PUFFER_CUDA_EMULATED");
    const char* memory = getenv("PUFFER_CUDA_EMULATED_MEMORY");
    const char* seed = getenv("PUFFER_CUDA_EMULATED_SEED");
    const char* pin = getenv("PUFFER_CUDA_EMULATED_PIN");
    if (!mode || !*mode) mode = "late";
    if (number < 0 || number >= device_count(error)) {
        sprintf(error, "there is no device %d: %d are emulated", number, device_count(error));
        return NULL;
    }
    if (strcmp(mode, "late") && strcmp(mode, "early") && strcmp(mode, "shuffled")) {
        snprintf(error, 200, "PUFFER_CUDA_EMULATED is late, early or shuffled, not '%s'", mode);
        return NULL;
    }
    Device* device = new Device();
    device->mode = *mode == 'l' ? Device::LATE : *mode == 'e' ? Device::EARLY : Device::SHUFFLED;
    device->luck = 0x9e3779b97f4a7c15u * (2 * (seed ? strtoull(seed, NULL, 10) : 1) + 1);
    device->page = (size_t)sysconf(_SC_PAGESIZE);
    device->limit = memory ? strtoull(memory, NULL, 10)
                           : (size_t)sysconf(_SC_PHYS_PAGES) * device->page;
    device->pins = !pin || strcmp(pin, "0");
    return device;
}

void device_close(Device* device) {
    device->capture = NULL;
    run_all(device);
    for (auto& program : device->programs) dlclose(program->library);
    for (Blocks* blocks : {&device->memory, &device->pinned})
        for (auto& block : *blocks)
            munmap(block.second.mapping, block.second.pages + 2 * device->page);
    delete device;
}

void device_meet(Device* device, Device* other) {
    device->met.push_back(other);
    other->met.push_back(device);
}

void device_facts(Device* device, DeviceFacts* out) {
    memset(out, 0, sizeof *out);
    strcpy(out->name, "emulated on the CPU");
    out->multiprocessors = PROCESSORS;
    out->emulated = 1;
    out->memory = (int64_t)device->limit;
    out->unused = (int64_t)(device->limit - device->used);
    if (device->refused_pin) strcpy(out->unpinned, "PUFFER_CUDA_EMULATED_PIN=0");
}

const char* device_failure(const Device* device) { return failed(device) ? device->failure : NULL; }

int32_t device_fault(const Device* device) {
    return failed(device) && !device->fault ? DEVICE_FAILED : device->fault;
}

__attribute__((visibility("default"))) int64_t device_emulated_count(int32_t what) {
    return what >= 0 && what < COUNTS ? counts[what] : -1;
}

void* device_memory(Device* device, size_t bytes) {
    if (refuse_in_capture(device, "device_memory")) return NULL;
    size_t size = size_of(bytes);
    if (size > device->limit - device->used) return NULL;
    char* start = take_block(device, device->memory, bytes,
                             device->open ? PROT_READ | PROT_WRITE : PROT_NONE);
    if (start) device->used += size;
    counts[ALLOCATIONS]++;
    return start;
}

void* device_pinned(Device* device, size_t bytes) {
    if (refuse_in_capture(device, "device_pinned")) return NULL;
    counts[ALLOCATIONS]++;
    return take_block(device, device->pinned, bytes, PROT_READ | PROT_WRITE);
}

int32_t device_pin(Device* device, void* memory, size_t bytes) {
    if (refuse_in_capture(device, "device_pin")) return -1;
    if ((uintptr_t)memory % device->page || !bytes)
        fail(device, "device_pin: %zu bytes at %p do not begin with a page", bytes, memory);
    if (in_host(device, "device_pin", "the memory", memory, bytes) && is_pinned(device, memory, 1))
        fail(device, "device_pin: %p is pinned already", memory);
    device->refused_pin = !device->pins;
    if (failed(device) || !device->pins) return -1;
    counts[ALLOCATIONS]++;
    device->registered[(const char*)memory] = round_to(bytes, device->page);
    return 0;
}

void device_unpin(Device* device, void* memory) {
    if (refuse_in_capture(device, "device_unpin")) return;
    run_all(device);
    if (!device->registered.erase((const char*)memory))
        fail(device, "device_unpin: %p was not pinned", memory);
}

// ---- streams ------------------------------------------------------------------------------------

Stream* stream_open(Device* device) {
    refuse_in_capture(device, "stream_open");
    counts[ALLOCATIONS]++;
    if (device->limit - device->used < WORKSPACE) {
        if (!failed(device)) device->fault = DEVICE_OUT_OF_MEMORY;
        fail(device, "no memory is left for a stream's workspace");
    } else {
        device->used += WORKSPACE;
    }
    device->streams.emplace_back(new Stream{device, {}, 0, 0, NULL});
    return device->streams.back().get();
}

Event* event_open(Device* device) {
    counts[ALLOCATIONS]++;
    device->events.emplace_back(new Event{device, NULL, 0, NULL, {}});
    return device->events.back().get();
}

void stream_mark(Stream* stream, Event* event) {
    if (failed(stream->device)) return;
    event->stream = stream;
    event->graph = stream->graph;
    event->position = stream->given;
    if (!stream->graph) return;
    Branch& branch = stream->graph->branches[stream];
    event->position = (int64_t)branch.calls.size();
    event->reach = branch.reach;
    event->reach[stream] = event->position;
}

static bool knows(const Device* device, const Device* other) {
    for (const Device* one : device->met)
        if (one == other) return true;
    return false;
}

void stream_after(Stream* stream, Event* event) {
    Device* device = stream->device;
    if (failed(device) || !event->stream) return;    // nothing to come after
    Call call = {"after", 0.0, 0.0, NULL};
    call.other = event->stream;
    call.position = event->position;
    if (event->device != device && !knows(device, event->device))
        fail(device, "stream_after: the event is one of a device that this one has not met");
    else if (event->graph && event->graph != device->capture)
        fail(device, "stream_after: the event was marked within a graph that is whole");
    else if (!event->graph && stream->graph)
        fail(device, "stream_after: a stream that is captured cannot come after an event that was "
                     "marked outside of the graph");
    else if (event->graph) {
        if (!stream->graph) stream->graph = device->capture;
        give(stream, std::move(call));
        for (auto& known : event->reach) {
            int64_t& mine = stream->graph->branches[stream].reach[known.first];
            mine = std::max(mine, known.second);
        }
    } else if (event->stream != stream) give(stream, std::move(call));
}

int32_t stream_wait(Stream* stream) {
    if (!refuse_in_capture(stream->device, "stream_wait")) counts[WAITS]++;
    if (!stream->device->capture) run_stream(stream, stream->given);
    return report(stream->device);
}

int32_t event_wait(Event* event) {
    if (!refuse_in_capture(event->device, "event_wait")) counts[WAITS]++;
    if (event->graph) fail(event->device, "event_wait: the event was marked within a graph");
    else if (event->stream && !event->device->capture) run_stream(event->stream, event->position);
    return report(event->device);
}

void stream_upload(Stream* stream, void* device_to, const void* host_from, size_t bytes) {
    Device* device = stream->device;
    if (!in_device(device, "stream_upload", "device_to", device_to, bytes)
        || !in_host(device, "stream_upload", "host_from", host_from, bytes))
        return;
    if (stream->graph && !is_pinned(device, host_from, bytes))
        fail(device, "stream_upload: what a graph uploads has to be pinned memory");
    counts[COPIES]++;
    give(stream,
         {"upload", 2.0 * (double)bytes, 0.0, [=] { memcpy(device_to, host_from, bytes); }});
}

void stream_download(Stream* stream, void* host_to, const void* device_from, size_t bytes) {
    Device* device = stream->device;
    if (!in_device(device, "stream_download", "device_from", device_from, bytes)
        || !in_host(device, "stream_download", "host_to", host_to, bytes))
        return;
    if (stream->graph && !is_pinned(device, host_to, bytes))
        fail(device, "stream_download: what a graph downloads to has to be pinned memory");
    counts[COPIES]++;
    give(stream,
         {"download", 2.0 * (double)bytes, 0.0, [=] { memcpy(host_to, device_from, bytes); }});
}

void stream_copy(Stream* stream, void* device_to, const void* device_from, size_t bytes) {
    Device* device = stream->device;
    const char *to = (const char*)device_to, *from = (const char*)device_from;
    Device* owner = owner_of(device, device_from);
    if (!in_device(device, "stream_copy", "device_to", device_to, bytes)
        || !in_device(owner, "stream_copy", "device_from", device_from, bytes)) {
        if (failed(owner)) fail(device, "%s", owner->failure);
        return;
    }
    if (owner != device && stream->graph)
        fail(device, "stream_copy: a graph copies from another device");
    if (bytes && to < from + bytes && from < to + bytes)
        fail(device, "stream_copy: device_to and device_from overlap");
    counts[COPIES]++;
    give(stream, {"copy", 2.0 * (double)bytes, 0.0, [=] {
                      open_memory(owner);
                      memcpy(device_to, device_from, bytes);
                      close_memory(owner);
                  }});
}

void stream_fill(Stream* stream, void* device_to, int32_t byte, size_t bytes) {
    if (!in_device(stream->device, "stream_fill", "device_to", device_to, bytes)) return;
    counts[COPIES]++;
    give(stream, {"fill", (double)bytes, 0.0, [=] { memset(device_to, byte, bytes); }});
}

const int32_t THREADS = 256;    // CUDA_THREADS of cuda/shim.h

// An array of a kernel is the device's. What is empty may be the end of a block
static bool allows(Device* device, const char* kernel, int32_t number, const CudaArray& array) {
    char what[32];
    const char* place = (const char*)array.place;
    if (!place || (array.bytes == 0.0 && block_of(device->memory, place - 1))) return true;
    snprintf(what, sizeof what, "array %d", number + 1);
    return in_device(device, kernel, what, place, array.bytes == 0.0 ? 0 : 1);
}

void stream_launch(Stream* stream, int32_t kernel, const void* args, int32_t blocks,
                   int32_t threads) {
    Device* device = stream->device;
    const char* name = cuda_kernel_name(kernel);
    if (!name || blocks < 1 || threads < 1 || threads > THREADS) {
        fail(device, "stream_launch: kernel %d (%s) cannot run as %d blocks of %d threads", kernel,
             name ? name : "unknown", blocks, threads);
        return;
    }
    CudaArrays arrays = cuda_arrays(kernel, args);
    for (int32_t i = 0; i < arrays.count; i++)
        if (!allows(device, name, i, arrays.array[i])) return;
    std::vector<char> kept((const char*)args, (const char*)args + cuda_args_size(kernel));
    counts[LAUNCHES]++;
    give(stream, {name, cuda_traffic(kernel, args), 0.0, [=] {
                      device->order = (device->order + 1) % 1000;
                      cuda_run(kernel, kept.data(), blocks, threads, device->order);
                  }});
}

// ---- programs -----------------------------------------------------------------------------------

Program* program_open(Device* device, const char* path, char* error) {
    if (refuse_in_capture(device, "program_open")) {
        snprintf(error, PUFFER_ERROR_SIZE, "%s", device->failure);
        return NULL;
    }
    counts[ALLOCATIONS]++;
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(error, PUFFER_ERROR_SIZE, "the program does not load: %s\t%s", dlerror(), path);
        return NULL;
    }
    auto limit = (void (*)(uint64_t))dlsym(library, "puffer_envs_heap");
    if (limit && device->heap) limit(device->heap);
    device->programs.emplace_back(new Program{device, library, {}});
    return device->programs.back().get();
}

int32_t program_kernel(Program* program, const char* name) {
    if (failed(program->device)) return -1;
    for (size_t i = 0; i < program->kernels.size(); i++)
        if (program->kernels[i].first == name) return (int32_t)i;
    void* found = dlsym(program->library, name);
    if (!found) return -1;
    program->kernels.emplace_back(name, (Called)found);
    return (int32_t)program->kernels.size() - 1;
}

void stream_call(Stream* stream, Program* program, int32_t kernel, const void* args, size_t bytes,
                 int32_t blocks, int32_t threads) {
    Device* device = stream->device;
    if (failed(device)) return;
    if (kernel < 0 || (size_t)kernel >= program->kernels.size() || blocks < 1 || threads < 1
        || threads > THREADS) {
        fail(device, "stream_call: kernel %d cannot run as %d blocks of %d threads", kernel, blocks,
             threads);
        return;
    }
    auto& called = program->kernels[(size_t)kernel];
    const void* wrong = host_address(device, (const char*)args, bytes);
    if (wrong) {
        fail(device, "%s: %p, which is in its arguments, is no device memory", called.first.c_str(),
             wrong);
        return;
    }
    std::vector<uint64_t> kept((bytes + 7) / 8);    // a struct's line
    memcpy(kept.data(), args, bytes);
    counts[LAUNCHES]++;
    give(stream, {called.first.c_str(), 0.0, 0.0,
                  [=, work = called.second] { work(kept.data(), blocks, threads); }});
}

int64_t device_heap(Device* device, size_t bytes) {
    if (!failed(device) && device->programs.empty()
        && bytes <= device->limit - device->used + device->heap) {
        device->used += bytes - device->heap;
        device->heap = bytes;
    }
    return (int64_t)device->heap;
}

// What it would take on a GPU; here threads have the host's
int64_t device_stack(Device* device, size_t each, size_t all) {
    const size_t threads = PROCESSORS * 2048;
    if (all / threads < each) each = all / threads & ~(size_t)1023;
    if (!failed(device) && each > device->stack
        && (each - device->stack) * threads <= device->limit - device->used) {
        device->used += (each - device->stack) * threads;
        device->stack = each;
    }
    return (int64_t)device->stack;
}

// ---- products -----------------------------------------------------------------------------------

Product* product_open(Device* device, const ProductShape* shape) {
    const ProductShape& s = *shape;
    counts[ALLOCATIONS]++;
    if (s.m < 1 || s.n < 1 || s.k < 1 || s.batch < 1)
        fail(device, "product_open: %s of (%d, %d) by (%d, %d), %d of them", s.label, s.m, s.k, s.k,
             s.n, s.batch);
    if (s.lda < (s.transpose_a ? s.m : s.k) || s.ldb < (s.transpose_b ? s.k : s.n) || s.ldd < s.n)
        fail(device, "product_open: the rows of %s overlap: lda %d, ldb %d, ldd %d", s.label, s.lda,
             s.ldb, s.ldd);
    if (failed(device)) return NULL;
    device->products.emplace_back(new Product{device, s});
    return device->products.back().get();
}

void stream_multiply(Stream* stream, const Product* product, float alpha, const void* A,
                     const void* B, float beta, const float* C, float* D) {
    Device* device = stream->device;
    if (failed(device) || !product) return;    // product_open has said why
    ProductShape s = product->shape;
    auto size = [&](int rows, int64_t ld, int columns, int64_t stride, size_t each) {
        return (size_t)((s.batch - 1) * stride + (rows - 1) * ld + columns) * each;
    };
    size_t each = s.narrow ? 2 : 4;
    int rows_a = s.transpose_a ? s.k : s.m, rows_b = s.transpose_b ? s.n : s.k;
    size_t size_d = size(s.m, s.ldd, s.n, s.stride_d, 4);
    if (!in_device(device, s.label, "A", A,
                   size(rows_a, s.lda, s.m + s.k - rows_a, s.stride_a, each))
        || !in_device(device, s.label, "B", B,
                      size(rows_b, s.ldb, s.n + s.k - rows_b, s.stride_b, each))
        || !in_device(device, s.label, "D", D, size_d)
        || (beta != 0.0f && !in_device(device, s.label, "C", C, size_d)))
        return;
    if (D == A || D == B) fail(device, "%s: D is an operand", s.label);
    if (beta != 0.0f && C != D && !s.beside)
        fail(device, "%s adds to other memory than its own", s.label);
    counts[PRODUCTS]++;
    double m = s.m, n = s.n, k = s.k, batch = s.batch;
    double bytes = (m * k + k * n) * (double)each + m * n * (beta != 0.0f ? 8.0 : 4.0);
    give(stream,
         {s.label, batch * bytes, batch * 2.0 * m * n * k, [=] {
              if (s.narrow)
                  products::multiply(s, alpha, (const uint16_t*)A, (const uint16_t*)B, beta, C, D);
              else products::multiply(s, alpha, (const float*)A, (const float*)B, beta, C, D);
          }});
}

// ---- graphs -------------------------------------------------------------------------------------

void graph_begin(Stream* stream) {
    Device* device = stream->device;
    if (refuse_in_capture(device, "graph_begin")) return;
    device->graphs.emplace_back(new Graph{device, stream, {}, {}, 0});
    stream->graph = device->capture = device->graphs.back().get();
    stream->graph->branches[stream];
}

Graph* graph_end(Stream* stream) {
    Device* device = stream->device;
    Graph* graph = device->capture;
    if (!graph) fail(device, "graph_end without graph_begin");
    else if (graph->first != stream) fail(device, "graph_end: another stream's graph is captured");
    device->capture = NULL;
    for (auto& one : device->streams) one->graph = NULL;
    if (failed(device)) return NULL;
    counts[ALLOCATIONS]++;
    Branch& main = graph->branches[stream];
    for (auto& branch : graph->branches)
        if (branch.first != stream
            && main.reach[branch.first] < (int64_t)branch.second.calls.size())
            fail(device, "graph_end: a stream that comes after the captured one is not joined: "
                         "the captured one never comes after its last call");
    return failed(device) ? NULL : graph;
}

void stream_replay(Stream* stream, Graph* graph) {
    if (!graph || refuse_in_capture(stream->device, "stream_replay")) return;
    Call call = {"replay", 0.0, 0.0, NULL};
    call.graph = graph;
    counts[REPLAYS]++;
    graph->pending++;
    give(stream, std::move(call));
}

void graph_free(Graph* graph) {
    if (!graph) return;
    Device* device = graph->device;
    if (graph->pending) {
        fail(device, "graph_free: %lld replays of it were not waited for",
             (long long)graph->pending);
        return;
    }
    for (auto& event : device->events)
        if (event->graph == graph) event->graph = &device->freed;
    for (size_t i = 0; i < device->graphs.size(); i++)
        if (device->graphs[i].get() == graph) {
            device->graphs.erase(device->graphs.begin() + (std::ptrdiff_t)i);
            return;
        }
}

// ---- looking on ---------------------------------------------------------------------------------

void device_range(Device*, const char*) {}

void device_time(Device* device, int32_t on) {
    run_all(device);
    if (on) device->tallies.clear();
    device->timed = on;
}

int32_t device_tally(Device* device, int32_t index, DeviceTally* out) {
    run_all(device);
    if (index < 0 || index >= (int32_t)device->tallies.size()) return 0;
    *out = device->tallies[(size_t)index];
    return 1;
}

static double best_of(int times, const std::function<void()>& work) {
    double best = INFINITY;
    for (int i = 0; i < times; i++) {
        double start = now();
        work();
        best = std::min(best, now() - start);
    }
    return best;
}

double device_copy_rate(Device*, size_t bytes) {
    std::vector<char> from(bytes, 1), to(bytes);
    return 2.0 * (double)bytes / best_of(5, [&] { memcpy(to.data(), from.data(), bytes); });
}

double device_product_rate(Device*, int32_t narrow) {
    const int n = 384;
    std::vector<float> A(n * n, 1.0f), B(n * n, 1.0f), D(n * n);
    ProductShape shape = {"rate", n, n, n, 0, 0, n, n, n, 1, 0, 0, 0, narrow, 0};
    return 2.0 * n * n * n / best_of(3, [&] {    // as bf16 these bits are other numbers
               if (narrow)
                   products::multiply(shape, 1.0f, (const uint16_t*)A.data(),
                                      (const uint16_t*)B.data(), 0.0f, NULL, D.data());
               else products::multiply(shape, 1.0f, A.data(), B.data(), 0.0f, NULL, D.data());
           });
}

}    // extern "C"
