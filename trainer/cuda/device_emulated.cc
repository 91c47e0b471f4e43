/* device_emulated.cc -- the contract of device.h on the host: calls are queued, and done later.
 *
 * It is there to find what a program forgets. A Stream is a queue. PUFFER_CUDA_EMULATED says when
 * what is queued is done, always as the contract allows:
 *
 *     late        (unless told) when the host waits for it, or a stream that it waits for
 *     early       at once
 *     shuffled    a little of some streams at each call; PUFFER_CUDA_EMULATED_SEED picks which
 *
 * A wait that is missing, or a pinned buffer that is used again too soon, gives other numbers in at
 * least one of them. The host that touches device memory dies of it, since that is open only while
 * queued calls run (closed behind each run at first, later now and then); a kernel dies of a page
 * behind each block. What a GPU would refuse is a failure here: host pointers given for the
 * device's, waits while a graph is captured, and so on. PUFFER_CUDA_EMULATED_MEMORY=BYTES is all
 * there is; PUFFER_CUDA_EMULATED_PIN=0 lets nothing be pinned that is there already.
 *
 * Kernels are loops (cuda_shim.h), in another order of blocks and threads at each call. */
#include <sys/mman.h>
#include <unistd.h>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include "device.h"
#include "emulated_products.h"

namespace {

typedef std::map<const Stream*, int64_t> Reach;     // how far what follows comes after each stream

struct Call {
    const char* name;
    double bytes, flops;
    std::function<void()> work;
    Stream* other = NULL;           // not work, but: after this stream's call number `position`
    int64_t position = 0;
    Graph* graph = NULL;            // not work, but: all of this
};

struct Block {                      // of memory, with a guard page on either side
    char* mapping;
    size_t pages;                   // bytes of the pages between the guards
    size_t bytes, slack;            // behind `bytes`, up to a line of 256
};

typedef std::map<const char*, Block> Blocks;        // by their first byte

struct Branch {                     // of a graph: what one stream was given
    std::deque<Call> calls;
    Reach reach;
    int64_t done = 0;
};

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Since the library was opened, of all devices: what tests ask for
enum { ALLOCATIONS, WAITS, LAUNCHES, PRODUCTS, COPIES, REPLAYS, COUNTS };
int64_t counts[COUNTS];

const size_t LINE = 256;
const int64_t OFTEN = 256;          // runs behind which memory is closed;
const int64_t SELDOM = 16;          // from then on behind each of so many
const unsigned char BEYOND = 0xff;  // of the slack: NaN, whoever reads it

}  // namespace

struct Graph { std::map<Stream*, Branch> branches; std::vector<Stream*> order; Stream* first; };
struct Product { Device* device; ProductShape shape; };
struct Event {
    Device* device;
    Stream* stream;                 // NULL: never marked
    int64_t position;
    Graph* graph;                   // that it was marked in, or NULL
    Reach reach;
};
struct Stream {
    Device* device;
    std::deque<Call> queue;
    int64_t given, done;
    Graph* graph;                   // that is captured from it, or NULL
};
struct Device {
    char failure[512];
    enum { LATE, EARLY, SHUFFLED } mode;
    uint64_t luck;
    size_t limit, used, page;
    bool pins;
    int running;                    // streams whose calls run now
    int64_t runs;
    bool open;                      // device memory can be touched
    int32_t order;                  // of the next kernel's blocks and threads
    int32_t timed;
    Blocks memory, pinned;
    std::map<const char*, size_t> registered;
    Graph* capture;
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<std::unique_ptr<Event>> events;
    std::vector<std::unique_ptr<Graph>> graphs;
    std::vector<std::unique_ptr<Product>> products;
    std::vector<DeviceTally> tallies;
};

namespace {

// The first failure stays
__attribute__((format(printf, 2, 3))) void fail(Device* device, const char* format, ...) {
    va_list args;
    if (device->failure[0]) return;
    va_start(args, format);
    vsnprintf(device->failure, sizeof device->failure, format, args);
    va_end(args);
}

bool failed(const Device* device) { return device->failure[0] != 0; }

uint32_t draw(Device* device, uint32_t below) {     // xorshift64
    device->luck ^= device->luck << 13;
    device->luck ^= device->luck >> 7;
    device->luck ^= device->luck << 17;
    return (uint32_t)(device->luck >> 33) % below;
}

// ---- memory -------------------------------------------------------------------------------------

size_t round_to(size_t bytes, size_t line) { return (bytes + line - 1) / line * line; }

void protect(const Block& block, size_t page, int rights) {
    if (mprotect(block.mapping + page, block.pages, rights)) {
        perror("the emulated device: mprotect");
        abort();
    }
}

// The block's last line ends where the guard page begins
char* take_block(Device* device, Blocks& blocks, size_t bytes, int rights) {
    size_t size = round_to(bytes, LINE), pages = round_to(size, device->page);
    void* mapping = mmap(NULL, pages + 2 * device->page, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return NULL;
    Block block = {(char*)mapping, pages, bytes, size - bytes};
    char* start = block.mapping + device->page + pages - size;
    protect(block, device->page, PROT_READ | PROT_WRITE);
    memset(start + bytes, BEYOND, block.slack);
    protect(block, device->page, rights);
    blocks[start] = block;
    return start;
}

const Blocks::value_type* block_of(const Blocks& blocks, const void* place) {
    auto after = blocks.upper_bound((const char*)place);
    if (after == blocks.begin()) return NULL;
    --after;
    size_t size = after->second.bytes + after->second.slack;
    return (const char*)place < after->first + size ? &*after : NULL;
}

// `bytes` from `place` on are device memory, or that is the failure
bool in_device(Device* device, const char* who, const char* what, const void* place,
               size_t bytes) {
    auto block = block_of(device->memory, place);
    if (!block) {
        fail(device, "%s: %s (%p) is no device memory", who, what, place);
        return false;
    }
    size_t left = (size_t)(block->first - (const char*)place) + block->second.bytes;
    if (left > block->second.bytes || bytes > left) {
        fail(device, "%s: %s goes %zu bytes beyond its block of %zu", who, what,
             (size_t)((const char*)place - block->first) + bytes - block->second.bytes,
             block->second.bytes);
        return false;
    }
    return true;
}

bool in_host(Device* device, const char* who, const char* what, const void* place, size_t bytes) {
    const char* end = (const char*)place + (bytes ? bytes - 1 : 0);
    if (place && !block_of(device->memory, place) && !block_of(device->memory, end)) return true;
    fail(device, "%s: %s (%p) is no host memory", who, what, place);
    return false;
}

bool is_pinned(const Device* device, const void* place, size_t bytes) {
    const char* first = (const char*)place;
    auto block = block_of(device->pinned, place);
    if (block) return first + bytes <= block->first + block->second.bytes;
    for (auto& one : device->registered)
        if (first >= one.first && first + bytes <= one.first + one.second) return true;
    return false;
}

void open_memory(Device* device) {
    if (device->running++ || device->open) return;
    device->open = true;
    for (auto& block : device->memory)
        protect(block.second, device->page, PROT_READ | PROT_WRITE);
}

// Closing costs some 50 us a megabyte, so after a while it is done only now and then
void close_memory(Device* device) {
    if (--device->running || (++device->runs > OFTEN && device->runs % SELDOM)) return;
    device->open = false;
    for (auto& block : device->memory) {
        const unsigned char* end = (const unsigned char*)block.first + block.second.bytes;
        for (size_t i = 0; i < block.second.slack; i++)
            if (end[i] != BEYOND)
                fail(device, "something was written %zu bytes beyond a block of %zu", i + 1,
                     block.second.bytes);
        protect(block.second, device->page, PROT_NONE);
    }
}

// ---- queues -------------------------------------------------------------------------------------

DeviceTally* tally_of(Device* device, const char* name) {
    for (auto& tally : device->tallies)
        if (!strcmp(tally.name, name)) return &tally;
    device->tallies.push_back(DeviceTally{name, 0, 0.0, 0.0, 0.0});
    return &device->tallies.back();
}

void perform(Device* device, const Call& call, bool timed) {
    double start = now();
    call.work();
    if (!timed) return;
    DeviceTally* tally = tally_of(device, call.name);
    tally->calls++;
    tally->seconds += now() - start;
    tally->bytes += call.bytes;
    tally->flops += call.flops;
}

// A branch of a graph, and what it comes after
void run_branch(Device* device, Graph* graph, Stream* which, int64_t until) {
    Branch& branch = graph->branches[which];
    while (branch.done < until) {
        const Call& call = branch.calls[(size_t)branch.done];
        if (call.other) run_branch(device, graph, call.other, call.position);
        else perform(device, call, false);
        branch.done++;
    }
}

void run_graph(Device* device, Graph* graph) {
    for (auto& branch : graph->branches) branch.second.done = 0;
    if (device->mode == Device::EARLY)
        for (Stream* stream : graph->order)
            run_branch(device, graph, stream, graph->branches[stream].done + 1);
    std::vector<Stream*> left;
    for (auto& branch : graph->branches) left.push_back(branch.first);
    while (device->mode == Device::SHUFFLED && !left.empty()) {
        uint32_t which = draw(device, (uint32_t)left.size());
        Branch& branch = graph->branches[left[which]];
        if (branch.done == (int64_t)branch.calls.size()) left.erase(left.begin() + which);
        else run_branch(device, graph, left[which], branch.done + 1);
    }
    run_branch(device, graph, graph->first,
               (int64_t)graph->branches[graph->first].calls.size());
}

void run_stream(Stream* stream, int64_t until) {
    Device* device = stream->device;
    if (stream->done >= until) return;
    open_memory(device);
    while (stream->done < until) {
        Call call = std::move(stream->queue.front());
        stream->queue.pop_front();
        if (call.other) run_stream(call.other, call.position);
        else if (call.graph) run_graph(device, call.graph);
        else perform(device, call, device->timed);
        stream->done++;
    }
    close_memory(device);
}

void run_all(Device* device) {                      // the last stream first
    for (size_t i = device->streams.size(); i-- > 0;)
        run_stream(device->streams[i].get(), device->streams[i]->given);
}

void give(Stream* stream, Call call) {
    Device* device = stream->device;
    if (failed(device)) return;
    if (stream->graph) {
        stream->graph->branches[stream].calls.push_back(std::move(call));
        stream->graph->order.push_back(stream);
        return;
    }
    stream->queue.push_back(std::move(call));
    stream->given++;
    if (device->mode == Device::EARLY) run_all(device);
    for (auto& other : device->streams)
        if (device->mode == Device::SHUFFLED && draw(device, 4) == 0)
            run_stream(other.get(), std::min(other->given, other->done + 1 + draw(device, 8)));
}

// What waits, allocates or frees must not happen while a graph is captured
bool refuse_in_capture(Device* device, const char* who) {
    if (device->capture) fail(device, "%s while a graph is captured", who);
    return failed(device);
}

int32_t report(const Device* device) { return failed(device) ? -1 : 0; }

}  // namespace

extern "C" {

// ---- the device ---------------------------------------------------------------------------------

int32_t device_count(char*) { return 1; }

Device* device_open(int32_t number, char* error) {
    const char* mode = getenv("PUFFER_CUDA_EMULATED");
    const char* memory = getenv("PUFFER_CUDA_EMULATED_MEMORY");
    const char* seed = getenv("PUFFER_CUDA_EMULATED_SEED");
    const char* pin = getenv("PUFFER_CUDA_EMULATED_PIN");
    if (!mode || !*mode) mode = "late";
    if (number != 0) {
        sprintf(error, "there is no device %d: the only emulated one is 0", number);
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
    for (Blocks* blocks : {&device->memory, &device->pinned})
        for (auto& block : *blocks)
            munmap(block.second.mapping, block.second.pages + 2 * device->page);
    delete device;
}

void device_facts(Device* device, DeviceFacts* out) {
    memset(out, 0, sizeof *out);
    strcpy(out->name, "emulated on the CPU");
    out->multiprocessors = 2;
    out->emulated = 1;
    out->memory = (int64_t)device->limit;
    out->unused = (int64_t)(device->limit - device->used);
}

const char* device_failure(const Device* device) {
    return failed(device) ? device->failure : NULL;
}

__attribute__((visibility("default"))) int64_t device_emulated_count(int32_t what) {
    return what >= 0 && what < COUNTS ? counts[what] : -1;
}

void* device_memory(Device* device, size_t bytes) {
    if (refuse_in_capture(device, "device_memory")) return NULL;
    size_t size = round_to(bytes, LINE);
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
    if ((uintptr_t)memory % device->page || bytes % device->page || !bytes)
        fail(device, "device_pin: %zu bytes at %p are not whole pages", bytes, memory);
    if (in_host(device, "device_pin", "the memory", memory, bytes) && is_pinned(device, memory, 1))
        fail(device, "device_pin: %p is pinned already", memory);
    if (failed(device) || !device->pins) return -1;
    counts[ALLOCATIONS]++;
    device->registered[(const char*)memory] = bytes;
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

void stream_after(Stream* stream, Event* event) {
    Device* device = stream->device;
    if (failed(device) || !event->stream) return;       // nothing to come after
    Call call = {"after", 0.0, 0.0, NULL};
    call.other = event->stream;
    call.position = event->position;
    if (event->graph && event->graph != device->capture)
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
        || !in_host(device, "stream_upload", "host_from", host_from, bytes)) return;
    if (stream->graph && !is_pinned(device, host_from, bytes))
        fail(device, "stream_upload: what a graph uploads has to be pinned memory");
    counts[COPIES]++;
    give(stream, {"upload", 2.0 * (double)bytes, 0.0,
                  [=] { memcpy(device_to, host_from, bytes); }});
}

void stream_download(Stream* stream, void* host_to, const void* device_from, size_t bytes) {
    Device* device = stream->device;
    if (!in_device(device, "stream_download", "device_from", device_from, bytes)
        || !in_host(device, "stream_download", "host_to", host_to, bytes)) return;
    if (stream->graph && !is_pinned(device, host_to, bytes))
        fail(device, "stream_download: what a graph downloads to has to be pinned memory");
    counts[COPIES]++;
    give(stream, {"download", 2.0 * (double)bytes, 0.0,
                  [=] { memcpy(host_to, device_from, bytes); }});
}

void stream_copy(Stream* stream, void* device_to, const void* device_from, size_t bytes) {
    Device* device = stream->device;
    const char *to = (const char*)device_to, *from = (const char*)device_from;
    if (!in_device(device, "stream_copy", "device_to", device_to, bytes)
        || !in_device(device, "stream_copy", "device_from", device_from, bytes)) return;
    if (bytes && to < from + bytes && from < to + bytes)
        fail(device, "stream_copy: device_to and device_from overlap");
    counts[COPIES]++;
    give(stream, {"copy", 2.0 * (double)bytes, 0.0,
                  [=] { memcpy(device_to, device_from, bytes); }});
}

void stream_fill(Stream* stream, void* device_to, int32_t byte, size_t bytes) {
    if (!in_device(stream->device, "stream_fill", "device_to", device_to, bytes)) return;
    counts[COPIES]++;
    give(stream, {"fill", (double)bytes, 0.0, [=] { memset(device_to, byte, bytes); }});
}

void stream_launch(Stream* stream, int32_t kernel, const void* args, int32_t blocks,
                   int32_t threads) {
    Device* device = stream->device;
    const char* name = cuda_kernel_name(kernel);
    if (!name || blocks < 1 || threads < 1 || threads > 256) {
        fail(device, "stream_launch: kernel %d (%s) cannot run as %d blocks of %d threads", kernel,
             name ? name : "unknown", blocks, threads);
        return;
    }
    std::vector<char> kept((const char*)args, (const char*)args + cuda_args_size(kernel));
    counts[LAUNCHES]++;
    give(stream, {name, 0.0, 0.0, [=] {
        device->order = (device->order + 1) % 1000;
        cuda_run(kernel, kept.data(), blocks, threads, device->order);
    }});
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
    if (failed(device) || !product) return;             // product_open has said why
    ProductShape s = product->shape;
    auto size = [&](int rows, int64_t ld, int columns, int64_t stride, size_t each) {
        return (size_t)((s.batch - 1) * stride + (rows - 1) * ld + columns) * each;
    };
    size_t each = s.narrow ? 2 : 4;
    int rows_a = s.transpose_a ? s.k : s.m, rows_b = s.transpose_b ? s.n : s.k;
    size_t size_d = size(s.m, s.ldd, s.n, s.stride_d, 4);
    if (!in_device(device, s.label, "A", A, size(rows_a, s.lda, s.m + s.k - rows_a, s.stride_a,
                                                 each))
        || !in_device(device, s.label, "B", B, size(rows_b, s.ldb, s.n + s.k - rows_b, s.stride_b,
                                                    each))
        || !in_device(device, s.label, "D", D, size_d)
        || (beta != 0.0f && !in_device(device, s.label, "C", C, size_d))) return;
    if (D == A || D == B) fail(device, "%s: D is an operand", s.label);
    counts[PRODUCTS]++;
    double m = s.m, n = s.n, k = s.k, batch = s.batch;
    double bytes = (m * k + k * n) * (double)each + m * n * (beta != 0.0f ? 8.0 : 4.0);
    give(stream, {s.label, batch * bytes, batch * 2.0 * m * n * k, [=] {
        if (s.narrow) products::multiply(s, alpha, (const uint16_t*)A, (const uint16_t*)B, beta, C,
                                         D);
        else products::multiply(s, alpha, (const float*)A, (const float*)B, beta, C, D);
    }});
}

// ---- graphs -------------------------------------------------------------------------------------

void graph_begin(Stream* stream) {
    Device* device = stream->device;
    if (refuse_in_capture(device, "graph_begin")) return;
    device->graphs.emplace_back(new Graph());
    stream->graph = device->capture = device->graphs.back().get();
    stream->graph->first = stream;
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

void graph_free(Graph* graph) {
    if (!graph) return;
    Device* device = graph->first->device;
    for (auto& stream : device->streams)
        for (auto& call : stream->queue)
            if (call.graph == graph) return fail(device, "graph_free: a replay is under way");
    for (auto one = device->graphs.begin(); one != device->graphs.end(); ++one)
        if (one->get() == graph) {
            device->graphs.erase(one);
            return;
        }
}

void stream_replay(Stream* stream, Graph* graph) {
    if (!graph || refuse_in_capture(stream->device, "stream_replay")) return;
    Call call = {"replay", 0.0, 0.0, NULL};
    call.graph = graph;
    counts[REPLAYS]++;
    give(stream, std::move(call));
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
    ProductShape shape = {"rate", n, n, n, 0, 0, n, n, n, 1, 0, 0, 0, narrow};
    return 2.0 * n * n * n / best_of(3, [&] {           // as bf16 these bits are other numbers
        if (narrow) products::multiply(shape, 1.0f, (const uint16_t*)A.data(),
                                       (const uint16_t*)B.data(), 0.0f, NULL, D.data());
        else products::multiply(shape, 1.0f, A.data(), B.data(), 0.0f, NULL, D.data());
    });
}

}  // extern "C"
