/* gpu_probe.cc -- the constants that decide how fast the CUDA trainer is, measured through device.h.
 *
 * A node of a graph, a replay, a wait, copies, locked memory, the heap, every product of a network
 * and the kernels whose time does not follow from the bytes that they move. tools/gpu_day.py links
 * it with either device; a line of its output is "name<TAB>value<TAB>unit". An argument "quick"
 * leaves the large sizes out. Ends with 1 where the device has failed. */
#include <initializer_list>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/mman.h>
#include <time.h>
#include <vector>
#include "puffer_abi.h"
#include "trainer/device/device.h"

static Device* device;
static Stream* stream;
static int failures;
static bool quick;

static double microseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void tell(const std::string& name, double value, const char* unit) {
    printf("%s\t%.9g\t%s\n", name.c_str(), value, unit);
    fflush(stdout);
}

static void reopen() {
    char error[PUFFER_ERROR_SIZE];
    int32_t fault;
    if (device) device_close(device);
    device = device_open(0, &fault, error);
    if (!device) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    stream = stream_open(device);
}

// A failure is told, and the next measurement has a new device
static void recover(const std::string& name) {
    if (!device_failure(device)) return;
    fprintf(stderr, "%s: %s\n", name.c_str(), device_failure(device));
    failures++;
    reopen();
}

// Microseconds of one `work` in a graph that holds `many` of them; the best of three looks
template <class Work> static double in_graph(int many, int replays, Work work) {
    double best = 1e30;
    work();    // what loads with its first use is loaded now
    if (stream_wait(stream)) return -1;
    graph_begin(stream);
    for (int i = 0; i < many; i++) work();
    Graph* graph = graph_end(stream);
    if (!graph) return -1;
    stream_replay(stream, graph);
    stream_wait(stream);
    for (int look = 0; look < 3; look++) {
        double began = microseconds();
        for (int i = 0; i < replays; i++) stream_replay(stream, graph);
        if (stream_wait(stream)) return -1;
        double each = (microseconds() - began) / replays / many;
        if (each < best) best = each;
    }
    graph_free(graph);
    return best;
}

// ---- launches and copies -----------------------------------------------------------------------

static void launches() {
    FloatsNarrowArgs one = {1, (float*)device_memory(device, 64),
                            (uint16_t*)device_memory(device, 64)};
    auto tiny = [&] { stream_launch(stream, KERNEL_floats_narrow, &one, 1, 32); };
    const int times = quick ? 20 : 500;
    tell("a small kernel in a graph", in_graph(quick ? 20 : 200, 20, tiny), "us");
    device_time(device, 1);
    for (int i = 0; i < 20; i++) tiny();
    device_time(device, 0);
    DeviceTally tally;
    if (device_tally(device, 0, &tally))
        tell("a small kernel, timed as profile does it",
             1e6 * tally.seconds / (double)tally.calls, "us");
    for (int nodes : {1, 7}) {
        graph_begin(stream);
        for (int i = 0; i < nodes; i++) tiny();
        Graph* graph = graph_end(stream);
        std::string name = "graph of " + std::to_string(nodes);
        double began = microseconds(), given;
        for (int i = 0; i < times; i++) stream_replay(stream, graph);
        given = microseconds() - began;
        stream_wait(stream);
        tell(name + ", the host's share", given / times, "us");
        tell(name, (microseconds() - began) / times, "us");
        began = microseconds();
        for (int i = 0; i < times; i++) {
            stream_replay(stream, graph);
            stream_wait(stream);
        }
        tell(name + ", waited for each time", (microseconds() - began) / times, "us");
        graph_free(graph);
    }
    recover("launches");
}

static void copies() {
    const size_t most = quick ? 1 << 16 : 8 << 20;
    void* block = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int refused = device_pin(device, block, most);
    DeviceFacts facts;
    device_facts(device, &facts);
    tell("memory of the process can be locked" + (refused ? std::string(", no: ") + facts.unpinned
                                                          : std::string()),
         refused == 0, "");
    void* host = refused ? device_pinned(device, most) : block;
    void* there = device_memory(device, most);
    for (size_t bytes : {size_t(24), size_t(1024 * 118 * 4), size_t(4096 * 118 * 4), most}) {
        if (bytes > most) continue;
        std::string size = std::to_string(bytes) + " bytes";
        tell("upload of " + size, in_graph(4, 20, [&] { stream_upload(stream, there, host, bytes); }),
             "us");
        tell("download of " + size,
             in_graph(4, 20, [&] { stream_download(stream, host, there, bytes); }), "us");
    }
    if (!refused) device_unpin(device, block);
    munmap(block, most);
    recover("copies");
}

// ---- kernels that depend on sizes in a way of their own ------------------------------------------

static void orders() {
    for (int N : {1024, 8192, 65536}) {
        if (quick && N > 1024) break;
        auto* schedule = (CudaSchedule*)device_memory(device, sizeof(CudaSchedule));
        auto* places = (int32_t*)device_memory(device, (size_t)N * 2 * 4);
        SegmentsShuffleArgs args = {schedule, N, 2, 0, NULL, places};
        const int blocks = 2 * ((N + CUDA_BUCKET - 1) / CUDA_BUCKET);
        tell("segments_shuffle of " + std::to_string(N), in_graph(1, 5, [&] {
                 stream_launch(stream, KERNEL_segments_shuffle, &args, blocks, CUDA_THREADS);
             }), "us");
    }
    recover("segments_shuffle");
}

static void scans() {
    const int cases[][3] = {{64, 16, 32}, {512, 64, 32}, {512, 64, 128}};
    for (auto& size : cases) {
        const int S = size[0], T = size[1], H = size[2];
        if (quick && S > 64) break;
        const size_t M = (size_t)S * T * sizeof(float), units = (size_t)H;
        auto take = [](size_t bytes) { return (float*)device_memory(device, bytes); };
        auto* rows = (int32_t*)take(S * sizeof(int32_t));
        float *ended = take(M), *before = take(S * units * sizeof(float));
        float *products = take(M * 3 * units), *x = take(M * units), *h = take(M * units),
              *out = take(M * units), *d = take(M * 3 * units);
        ScanForwardArgs forward = {S, T, H, H, rows, ended, before, products, x, h, out, NULL};
        ScanBackwardArgs backward = {S, T, H, H, rows, ended, before, products, x, h, out, d, NULL};
        for (int threads : {256, 64, 32}) {
            const int blocks = (S * H + threads - 1) / threads;
            std::string name = std::to_string(S) + " segments of " + std::to_string(T) + ", "
                               + std::to_string(H) + " units, blocks of "
                               + std::to_string(threads);
            tell("scan_forward, " + name, in_graph(5, 10, [&] {
                     stream_launch(stream, KERNEL_scan_forward, &forward, blocks, threads);
                 }), "us");
            tell("scan_backward, " + name, in_graph(5, 10, [&] {
                     stream_launch(stream, KERNEL_scan_backward, &backward, blocks, threads);
                 }), "us");
        }
    }
    recover("scans");
}

// ---- products ------------------------------------------------------------------------------------

static void product(const char* label, ProductShape shape, float beta = 0) {
    shape.label = label;
    const size_t width = shape.narrow ? 2 : 4, batch = (size_t)shape.batch;
    const size_t a = (size_t)(shape.transpose_a ? shape.k : shape.m) * (size_t)shape.lda;
    const size_t b = (size_t)(shape.transpose_b ? shape.n : shape.k) * (size_t)shape.ldb;
    const size_t d = (size_t)shape.m * (size_t)shape.ldd;
    void* A = device_memory(device, (a + (batch - 1) * (size_t)shape.stride_a) * width);
    void* B = device_memory(device, (b + (batch - 1) * (size_t)shape.stride_b) * width);
    auto* D = (float*)device_memory(device, (d + (batch - 1) * (size_t)shape.stride_d) * 4);
    Product* made = A && B && D ? product_open(device, &shape) : NULL;
    std::string name = std::string(label) + " " + std::to_string(shape.m) + " x "
                       + std::to_string(shape.n) + " x " + std::to_string(shape.k)
                       + (shape.narrow ? ", bf16" : ", fp32");
    if (made)
        tell(name, in_graph(quick ? 2 : 20, quick ? 2 : 20, [&] {
                 stream_multiply(stream, made, 1.0f, A, B, beta, beta != 0 ? D : NULL, D);
             }), "us");
    recover(name);
}

// Those of a network: a tick of R rows, a minibatch of M, and Muon's
static void network(int R, int M, int D, int H, int outputs, int narrow) {
    const int ldw = (D + 7) / 8 * 8, ldo = (outputs + 7) / 8 * 8, parts = M < 64 ? M : 64;
    const int part = M / parts;
    const int64_t weights = (int64_t)D * H + 3 * H * H + outputs * H;
    for (int rows : {R, M}) {
        product("encode", {"", rows, H, D, 0, 0, ldw, H, H, 1, 0, 0, 0, narrow, 0});
        product("layer", {"", rows, 3 * H, H, 0, 1, H, H, 3 * H, 1, 0, 0, 0, narrow, 0});
        product("decode", {"", rows, outputs, H, 0, 1, H, H, ldo, 1, 0, 0, 0, narrow, 0});
    }
    product("decoder dW", {"", outputs, H, part, 1, 0, ldo, H, H, parts, (int64_t)part * ldo,
                           (int64_t)part * H, weights, narrow, 0});
    product("layer dW", {"", 3 * H, H, part, 1, 0, 3 * H, H, H, parts, (int64_t)part * 3 * H,
                         (int64_t)part * H, weights, narrow, 0});
    product("encoder dW", {"", D, H, part, 1, 0, ldw, H, H, parts, (int64_t)part * ldw,
                           (int64_t)part * H, weights, narrow, 0});
    product("decoder dx", {"", M, H, outputs, 0, 0, ldo, H, H, 1, 0, 0, 0, narrow, 0});
    product("layer dx", {"", M, H, 3 * H, 0, 0, 3 * H, H, H, 1, 0, 0, 0, narrow, 0}, 1.0f);
    if (narrow) return;
    product("muon gram", {"", H, H, D, 1, 0, H, H, H, 1, 0, 0, 0, 0, 0});
    product("muon square", {"", H, H, H, 0, 0, H, H, H, 1, 0, 0, 0, 0, 0});
    product("muon apply", {"", D, H, H, 0, 0, H, H, H, 1, 0, 0, 0, 0, 0});
}

int main(int count, char** words) {
    quick = count > 1 && !strcmp(words[1], "quick");
    double began = microseconds();
    reopen();
    tell("opening the device", (microseconds() - began) / 1e3, "ms");
    // Before anything runs there, as the trainer does it
    const int64_t heap = quick ? 1 << 20 : (int64_t)4 << 30;
    tell("heap asked for", (double)heap, "bytes");
    tell("heap given", (double)device_heap(device, (size_t)heap), "bytes");
    launches();
    tell("heap given after launches", (double)device_heap(device, (size_t)heap / 2), "bytes");
    copies();
    orders();
    scans();
    for (int narrow = 0; narrow < 2; narrow++) {
        if (quick) network(8, 64, 11, 16, 4, narrow);
        else {
            network(512, 8192, 118, 32, 4, narrow);
            network(4096, 32768, 118, 128, 4, narrow);
            network(9, 21 * 64, 5, 33, 4, narrow);    // rows on no line of 16 bytes
        }
    }
    if (!quick) {
        tell("a copy on the device", device_copy_rate(device, (size_t)256 << 20), "bytes/s");
        tell("a large product in fp32", device_product_rate(device, 0), "FLOP/s");
        tell("a large product in bf16", device_product_rate(device, 1), "FLOP/s");
    }
    recover("rates");
    device_close(device);
    return failures != 0;
}
