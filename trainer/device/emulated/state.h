/* state.h -- what the emulated device holds, and its memory between guard pages.
 *
 * A block of device memory ends where a guard page begins, but for a line of 256 bytes. It can be
 * touched only between open_memory and close_memory. */
#pragma once
#include <sys/mman.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "trainer/device/device.h"

namespace emulated {

typedef std::map<const Stream*, int64_t> Reach;    // how far what follows comes after each stream

struct Call {
    const char* name;
    double bytes, flops;
    std::function<void()> work;
    Stream* other = NULL;    // not work, but: after this stream's call number `position`
    int64_t position = 0;
    Graph* graph = NULL;    // not work, but: all of this
};

struct Block {    // of memory, with a guard page on either side
    char* mapping;
    size_t pages;           // bytes of the pages between the guards
    size_t bytes, slack;    // behind `bytes`, up to a line of 256
};

typedef std::map<const char*, Block> Blocks;    // by their first byte

struct Branch {    // of a graph: what one stream was given
    std::deque<Call> calls;
    Reach reach;
    int64_t done = 0;
};

inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Since the library was opened, of all devices: what tests ask for
enum { ALLOCATIONS, WAITS, LAUNCHES, PRODUCTS, COPIES, REPLAYS, COUNTS };
inline int64_t counts[COUNTS];

const size_t LINE = 256;
const int64_t OFTEN = 256;            // runs after which memory is closed;
const int64_t SELDOM = 16;            // from then on after each of so many
const unsigned char BEYOND = 0xff;    // of the slack: NaN, whoever reads it

}    // namespace emulated

using namespace emulated;

struct Graph {
    Device* device;
    Stream* first;    // that it was captured from
    std::map<Stream*, Branch> branches;
    std::vector<Stream*> order;    // in which they were given calls
    int64_t pending;               // replays that are queued
};
struct Product {
    Device* device;
    ProductShape shape;
};
typedef void (*Called)(const void* args, int32_t blocks, int32_t threads);
struct Program {
    Device* device;
    void* library;
    std::deque<std::pair<std::string, Called>> kernels;    // names stay where they are
};
struct Event {
    Device* device;
    Stream* stream;    // NULL: never marked
    int64_t position;
    Graph* graph;    // that it was marked in, or NULL
    Reach reach;
};
struct Stream {
    Device* device;
    std::deque<Call> queue;
    int64_t given, done;
    Graph* graph;    // that is captured from it, or NULL
};
struct Device {
    char failure[512];
    int32_t fault = DEVICE_FINE;    // another kind than DEVICE_FAILED
    enum { LATE, EARLY, SHUFFLED } mode;
    uint64_t luck;
    size_t limit, used, page, heap;    // heap: of `used`, for malloc of programs
    size_t stack = 1024;               // of a thread; what is more than this is of `used`
    bool pins, refused_pin = false;
    int running;    // streams whose calls run now
    int64_t runs;
    bool open;        // device memory can be touched
    int32_t order;    // of the next kernel's blocks and threads
    int32_t timed;
    Blocks memory, pinned;
    std::map<const char*, size_t> registered;
    Graph* capture;
    Graph freed;    // stands for all that are
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<std::unique_ptr<Event>> events;
    std::vector<std::unique_ptr<Graph>> graphs;
    std::vector<std::unique_ptr<Product>> products;
    std::vector<std::unique_ptr<Program>> programs;
    std::vector<DeviceTally> tallies;
    std::vector<Device*> met;    // devices that it works with
};

namespace emulated {

// The first failure stays
__attribute__((format(printf, 2, 3))) inline void fail(Device* device, const char* format, ...) {
    va_list args;
    if (device->failure[0]) return;
    va_start(args, format);
    vsnprintf(device->failure, sizeof device->failure, format, args);
    va_end(args);
}

inline bool failed(const Device* device) { return device->failure[0] != 0; }

inline uint32_t draw(Device* device, uint32_t below) {    // xorshift64
    device->luck ^= device->luck << 13;
    device->luck ^= device->luck >> 7;
    device->luck ^= device->luck << 17;
    return (uint32_t)(device->luck >> 33) % below;
}

// ---- memory -------------------------------------------------------------------------------------

inline size_t round_to(size_t bytes, size_t line) { return (bytes + line - 1) / line * line; }

// What a block takes; one of no bytes has an address too
inline size_t size_of(size_t bytes) { return round_to(bytes ? bytes : 1, LINE); }

inline void protect(const Block& block, size_t page, int rights) {
    if (mprotect(block.mapping + page, block.pages, rights)) {
        perror("the emulated device: mprotect");
        abort();
    }
}

// The block's last line ends where the guard page begins
inline char* take_block(Device* device, Blocks& blocks, size_t bytes, int rights) {
    size_t size = size_of(bytes), pages = round_to(size, device->page);
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

inline const Blocks::value_type* block_of(const Blocks& blocks, const void* place) {
    auto after = blocks.upper_bound((const char*)place);
    if (after == blocks.begin()) return NULL;
    --after;
    size_t size = after->second.bytes + after->second.slack;
    return (const char*)place < after->first + size ? &*after : NULL;
}

// `bytes` from `place` on are device memory, or that is the failure
inline bool in_device(Device* device, const char* who, const char* what, const void* place,
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

inline bool in_host(Device* device, const char* who, const char* what, const void* place,
                    size_t bytes) {
    const char* end = (const char*)place + (bytes ? bytes - 1 : 0);
    if (place && !block_of(device->memory, place) && !block_of(device->memory, end)) return true;
    fail(device, "%s: %s (%p) is no host memory", who, what, place);
    return false;
}

// A word among these that is the address of memory of the host's, or NULL. The system is asked for
// every page, since numbers look like addresses too: two small ones, side by side, like low ones
inline const void* host_address(const Device* device, const char* words, size_t bytes) {
    for (size_t i = 0; i + sizeof(void*) <= bytes; i += sizeof(void*)) {
        const char* place;
        memcpy(&place, words + i, sizeof place);
        char* page = (char*)((uintptr_t)place / device->page * device->page);
        if ((uintptr_t)page >> 46 && !block_of(device->memory, place)
            && msync(page, 1, MS_ASYNC) == 0)
            return place;
    }
    return NULL;
}

inline bool pinned_by(const Device* device, const void* place, size_t bytes) {
    const char* first = (const char*)place;
    auto block = block_of(device->pinned, place);
    if (block) return first + bytes <= block->first + block->second.bytes;
    for (auto& one : device->registered)
        if (first >= one.first && first + bytes <= one.first + one.second) return true;
    return false;
}

inline bool is_pinned(const Device* device, const void* place, size_t bytes) {
    bool pinned = pinned_by(device, place, bytes);
    for (const Device* other : device->met) pinned |= pinned_by(other, place, bytes);
    return pinned;
}

// Whose memory that is, of a device or one that it works with; its own where it is nobody's
inline Device* owner_of(Device* device, const void* place) {
    for (Device* other : device->met)
        if (block_of(other->memory, place)) return other;
    return device;
}

inline void open_memory(Device* device) {
    if (device->running++ || device->open) return;
    device->open = true;
    for (auto& block : device->memory) protect(block.second, device->page, PROT_READ | PROT_WRITE);
}

// Closing costs some 50 us a megabyte, so after a while it is done only now and then
inline void close_memory(Device* device) {
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

}    // namespace emulated
