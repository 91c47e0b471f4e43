/* check_device.cc -- device/cuda/device.cc against a CUDA that is not there.  the name of a check -> 0
 *
 * What is checked is what the device layer makes of its calls: in what order, with which arguments,
 * and what it says when one of them fails. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <memory>
#include "kernels/cuda/launch.h"
#include "kernels/cuda/traffic.h"
#include "trainer/device/device.h"
#include "fake_cuda.h"
#include "puffer_abi.h"

static char error[PUFFER_ERROR_SIZE];
static int32_t fault;
static int checked;
#define CHECK(...) do { checked++; if (!(__VA_ARGS__)) { fprintf(stderr, "line %d: %s\n%s\n",   \
                   __LINE__, #__VA_ARGS__, said); exit(1); } } while (0)
static const char* said = "";

static bool has(const char* text, const char* part) { return text && strstr(text, part); }

static void* lt(const char* name) {
    static void* library = dlopen(getenv("PUFFER_CUBLASLT"), RTLD_NOW);     // as it is at first
    return dlsym(library, name);
}
static int& number(const char* name) { return *(int*)lt(name); }

// ---- kernels: one that does something, and a cubin that only the fake reads ---------------------

extern "C" const CudaCubin cuda_cubins[] = {
    {80, (const unsigned char*)"cubin 80\nall"}, {90, (const unsigned char*)"cubin 90\nall"}, {0, NULL}};

static fake::Work narrow_floats(const void* args) {
    const FloatsNarrowArgs a = *(const FloatsNarrowArgs*)args;
    return [=] { for (int i = 0; i < a.count; i++) a.narrow[i]++; };
}
static const bool known = (fake::kernels["floats_narrow"] = narrow_floats, true);

struct Open {                       // a device that is closed in the end, and then all is gone
    Device* device;
    Open() { device = device_open(0, &fault, error), said = error; CHECK(device); }
    ~Open() {
        device_close(device);
        said = "something was not given back";
        CHECK(fake::living() == 0 && number("fake_living") == 0);
    }
    const char* failure() {
        const char* text = device_failure(device);
        return said = text ? text : "", text;
    }
};

// ---- checks -------------------------------------------------------------------------------------

static void opening() {
    fake::driver = 0;
    CHECK(device_count(error) == -1 && !strcmp(error, "there is no NVIDIA driver on this machine"));
    fake::driver = 12040;
    CHECK(!device_open(0, &fault, error) && has(error, "driver is for CUDA 12.4"));
    CHECK(has(error, "CUDA 13.0"));
    fake::driver = 13000, fake::devices = 0;
    CHECK(device_count(error) == 0);
    CHECK(!device_open(0, &fault, error) && has(error, "there is no GPU 0: CUDA sees 0"));
    fake::devices = 2;
    CHECK(device_count(error) == 2);
    CHECK(!device_open(2, &fault, error) && !device_open(-1, &fault, error));
    fake::refuse["cudaGetDeviceCount"] = cudaErrorUnknown;
    CHECK(device_count(error) == -1 && has(error, "CUDA does not answer"));
    fake::missing["cuLibraryGetKernel"] = 1;
    CHECK(!device_open(0, &fault, error) && has(error, "driver has no cuLibraryGetKernel"));
    fake::missing.clear();
    fake::capability = 120;
    CHECK(!device_open(0, &fault, error));
    CHECK(has(error, "not compiled for this GPU, which is sm_120"));
    fake::capability = 90;
    for (const char* name : {"LibraryLoadData", "LibraryGetKernel", "KernelGetFunction"}) {
        fake::refuse_driver[name] = CUDA_ERROR_OUT_OF_MEMORY;
        CHECK(!device_open(0, &fault, error) && fault == DEVICE_OUT_OF_MEMORY);
        CHECK(has(error, "refused to load the kernels") && fake::living() == 0);
    }
    for (const char* name : {"cudaSetDevice", "cudaGetDeviceProperties", "cudaEventCreateWithFlags",
                             "cudaStreamCreateWithFlags", "cudaDeviceGetAttribute"}) {
        fake::refuse[name] = cudaErrorUnknown;
        CHECK(!device_open(0, &fault, error) && has(error, "CUDA refused") && fake::living() == 0);
        CHECK(fault == DEVICE_FAILED);
    }
    fake::refuse["cudaSetDevice"] = cudaErrorMemoryAllocation;
    CHECK(!device_open(0, &fault, error) && fault == DEVICE_OUT_OF_MEMORY && fake::living() == 0);
    fake::refuse["cudaSetDevice"] = cudaErrorDevicesUnavailable;    // another has it to itself
    CHECK(!device_open(0, &fault, error) && fault == DEVICE_BUSY && fake::living() == 0);
    for (int status : {1, 3, 15}) {                     // the first two are what a full GPU gives
        number("fake_refusal") = status;
        CHECK(!device_open(0, &fault, error) && has(error, "cuBLASLt does not begin"));
        CHECK(fault == (status < 15 ? DEVICE_OUT_OF_MEMORY : DEVICE_FAILED));
    }
    number("fake_refusal") = 0;
    const std::string right = getenv("PUFFER_CUBLASLT");
    setenv("PUFFER_CUBLASLT", "/nowhere/libcublasLt.so", 1);
    CHECK(!device_open(0, &fault, error) && fault == DEVICE_FAILED);
    CHECK(has(error, "cuBLASLt does not load: /nowhere/libcublasLt.so"));
    setenv("PUFFER_CUBLASLT", right.substr(0, right.rfind('/')).c_str(), 1);        // its folder
    {
        Open open;
        DeviceFacts facts;
        device_facts(open.device, &facts);
        CHECK(!strcmp(facts.name, "Fake GPU") && facts.major == 9 && facts.minor == 0);
        CHECK(facts.multiprocessors == 3 && facts.driver == 13000 && facts.runtime == 13000);
        CHECK(facts.memory == 5000 && facts.unused == 4000 && !facts.emulated);
    }
    setenv("PUFFER_CUBLASLT", right.c_str(), 1);
    device_close(NULL);
}

static void memory() {
    Open open;
    Stream* stream = stream_open(open.device);
    const int waits = fake::calls["cudaStreamSynchronize"];
    char* a = (char*)device_memory(open.device, 1000);
    CHECK(fake::calls["cudaStreamSynchronize"] == waits + 1);       // zeros before any stream looks
    char* host = (char*)device_pinned(open.device, 1000);
    CHECK(a && host && (uintptr_t)a % 256 == 0 && (uintptr_t)host % 256 == 0);
    for (int i = 0; i < 1000; i++) CHECK(a[i] == 0 && host[i] == 0);
    CHECK(device_memory(open.device, 0));
    for (int i = 0; i < 1000; i++) host[i] = (char)i;
    char* b = (char*)device_memory(open.device, 1000);
    stream_upload(stream, a, host, 1000);
    stream_copy(stream, b, a + 10, 900);
    stream_fill(stream, b + 900, 7, 100);
    stream_fill(stream, b, 7, 0);
    stream_download(stream, host, b, 1000);
    CHECK(stream_wait(stream) == 0 && host[0] == 10 && host[899] == (char)909 && host[999] == 7);
    fake::memory = 500;
    CHECK(!device_memory(open.device, 1000) && !device_pinned(open.device, 1000));
    CHECK(!open.failure() && cudaGetLastError() == cudaSuccess);
    CHECK(device_memory(open.device, 400));
    CHECK(!stream_open(open.device) && has(open.failure(), "no memory is left for a stream"));
    CHECK(device_fault(open.device) == DEVICE_OUT_OF_MEMORY);
    DeviceFacts facts;
    device_facts(open.device, &facts);              // it is the reason that says how much is left
    CHECK(facts.unused == 4000);
    fake::memory = (size_t)1 << 40;
}

static void pinning() {
    Open open;
    static char pages[8192];
    Stream* stream = stream_open(open.device);
    for (cudaError_t why : {cudaErrorNotSupported, cudaErrorMemoryAllocation, cudaErrorNotPermitted,
                            cudaErrorHostMemoryAlreadyRegistered, cudaErrorOperatingSystem,
                            cudaErrorUnknown}) {
        fake::refuse["cudaHostRegister"] = why;
        CHECK(device_pin(open.device, pages, sizeof pages) == -1);
        CHECK(!open.failure() && cudaGetLastError() == cudaSuccess);
        DeviceFacts facts;
        device_facts(open.device, &facts);
        CHECK(!strcmp(facts.unpinned, cudaGetErrorName(why)));
    }
    CHECK(device_pin(open.device, pages, sizeof pages) == 0);
    CHECK(device_pin(open.device, pages, sizeof pages) == -1 && !open.failure());
    const int waits = fake::calls["cudaDeviceSynchronize"];
    device_unpin(open.device, pages);
    CHECK(fake::calls["cudaDeviceSynchronize"] == waits + 1);
    device_unpin(open.device, pages);
    CHECK(fake::calls["cudaHostUnregister"] == 1 && !open.failure());
    CHECK(device_pin(open.device, pages, sizeof pages) == 0);       // closing takes it back
    fake::refuse["cudaHostRegister"] = fake::refuse["cudaStreamSynchronize"] = cudaErrorLaunchFailure;
    CHECK(device_pin(open.device, pages + 4096, 4096) == -1 && has(open.failure(), "CUDA refused"));
    CHECK(stream_wait(stream) == -1);
}

// Row by row, as the contract says it
static void plainly(const ProductShape* s, float alpha, const float* A, const float* B, float beta,
                    const float* C, float* D) {
    for (int b = 0; b < s->batch; b++)
        for (int i = 0; i < s->m; i++)
            for (int j = 0; j < s->n; j++) {
                double sum = 0;
                for (int k = 0; k < s->k; k++)
                    sum += (double)A[b * s->stride_a
                                     + (s->transpose_a ? k * s->lda + i : i * s->lda + k)]
                         * B[b * s->stride_b
                             + (s->transpose_b ? j * s->ldb + k : k * s->ldb + j)];
                float* d = D + b * s->stride_d + i * s->ldd + j;
                *d = (float)(alpha * sum + (beta != 0 ? beta * C[d - D] : 0));
            }
}

static void products() {
    Open open;
    Stream* stream = stream_open(open.device);
    enum { SIZE = 4096 };
    static float a[SIZE], b[SIZE], c[SIZE], want[SIZE], got[SIZE], fill[SIZE];
    static uint16_t half[SIZE];
    char* place[4];
    for (char*& p : place) p = (char*)device_memory(open.device, sizeof a + 64);
    for (int i = 0; i < SIZE; i++) {                // few bits: bf16 holds them, sums are exact
        a[i] = (float)(i * 7 % 13 - 6), b[i] = (float)(i * 5 % 11 - 5), c[i] = (float)(i % 9);
        fill[i] = -99;
    }
    for (int kind = 0; kind < 64; kind++) {
        const int ta = kind & 1, tb = kind >> 1 & 1, narrow = kind >> 2 & 1, with_c = kind >> 5;
        const int batch = kind & 8 ? 3 : 1, shift = kind & 16 ? 4 : 0;
        const int beside = !with_c && kind & 8;
        const ProductShape shape = {"a product", 5, 7, 6, ta, tb, 8, 16, 8, batch, 104, 208, 48,
                                    narrow, beside};
        Product* product = product_open(open.device, &shape);
        CHECK(product && !open.failure());
        const int asked = number("fake_heuristics");
        for (int i = 0; i < 2; i++) {
            const float* from = i ? b : a;
            for (int j = 0; j < SIZE; j++) {
                uint32_t bits;
                memcpy(&bits, &from[j], 4);
                half[j] = (uint16_t)(bits >> 16);
            }
            stream_upload(stream, place[i] + shift, narrow ? (void*)half : (void*)from,
                          narrow ? sizeof half : sizeof a);
        }
        stream_upload(stream, place[2] + shift, c, sizeof c);
        // In place, beside C, or without one
        float* D = (float*)(place[with_c ? 2 : 3] + shift);
        if (!with_c) stream_upload(stream, D, fill, sizeof fill);
        const float beta = with_c || kind & 8 ? 0.5f : 0.0f;
        const float* C = beta != 0 ? (const float*)(place[2] + shift) : NULL;
        memcpy(want, with_c ? c : fill, sizeof want);
        plainly(&shape, 2, a, b, beta, c, want);
        stream_multiply(stream, product, 2, place[0] + shift, place[1] + shift, beta, C, D);
        stream_download(stream, got, D, sizeof got);
        CHECK(stream_wait(stream) == 0);
        CHECK(!memcmp(got, want, sizeof got));
        // One that wants C to be D is the first that is offered
        CHECK(number("fake_last") == (!beside ? 3 : shift ? 5 : 4));
        CHECK(number("fake_heuristics") == asked);
    }
    const ProductShape odd = {"odd rows", 5, 7, 6, 0, 0, 9, 15, 7, 1, 0, 0, 0, 0, 1};
    Product* product = product_open(open.device, &odd);
    stream_multiply(stream, product, 1, place[0], place[1], 0, NULL, (float*)place[3]);
    CHECK(number("fake_last") == 5 && stream_wait(stream) == 0);    // lines of rows count too
    stream_multiply(stream, product, 1, place[0], place[1], 0.5f, (float*)place[2],
                    (float*)place[3]);
    CHECK(stream_wait(stream) == 0);
    for (int silent : {3, 4})       // where C may be matters only to a product beside it
        for (int beside : {0, 1}) {
            const ProductShape small = {"small", 4, 4, 4, 0, 0, 4, 4, 4, 1, 0, 0, 0, 0, beside};
            number("fake_silent") = silent;
            stream_multiply(stream, product_open(open.device, &small), 1, place[0], place[1], 0,
                            NULL, (float*)place[3]);
            CHECK(stream_wait(stream) == 0);
            CHECK(number("fake_last") == (!beside ? 3 : silent == 4 ? 5 : 4));
        }
    number("fake_silent") = 0;
    number("fake_only_inplace") = 1;
    CHECK(!product_open(open.device, &odd) && has(open.failure(), "odd rows (5 x 7 x 6, fp32)"));
    CHECK(has(open.failure(), "same bits each time") && has(open.failure(), "\tFake GPU"));
    number("fake_only_inplace") = 0;
}

static void a_sum_in_other_memory() {
    Open open;
    const ProductShape small = {"small", 2, 2, 2, 0, 0, 2, 2, 2, 1, 0, 0, 0, 0, 0};
    Product* product = product_open(open.device, &small);
    float* place = (float*)device_memory(open.device, 256);
    stream_multiply(stream_open(open.device), product, 1, place, place + 8, 1, place + 16,
                    place + 24);
    CHECK(has(open.failure(), "small adds to other memory than its own"));
    CHECK(number("fake_products") == 0);
}

static void shapes_that_are_none() {
    Open open;
    const ProductShape flat = {"flat", 0, 7, 6, 0, 0, 8, 16, 8, 1, 0, 0, 0, 0};
    CHECK(!product_open(open.device, &flat));
    CHECK(has(open.failure(), "flat (0 x 7 x 6, fp32), its layout: CUBLAS_STATUS_INVALID_VALUE"));
    stream_multiply(NULL, NULL, 1, NULL, NULL, 0, NULL, NULL);
}

static void graphs() {
    Open open;
    Stream* main = stream_open(open.device);
    Stream* side = stream_open(open.device);
    Event* fork = event_open(open.device);
    Event* join = event_open(open.device);
    char* place = (char*)device_memory(open.device, 64);
    char* host = (char*)device_pinned(open.device, 64);
    FloatsNarrowArgs args = {1, NULL, (uint16_t*)place};
    const ProductShape shape = {"one number", 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0};
    Product* product = product_open(open.device, &shape);
    float* sum = (float*)device_memory(open.device, 64);
    stream_fill(main, (char*)sum + 19, 0x40, 1);    // sum[4] is 2
    stream_mark(main, fork);                        // done: of no graph
    graph_begin(main);
    stream_upload(main, place + 8, host, 8);
    stream_mark(main, fork);
    stream_after(side, fork);
    stream_launch(side, KERNEL_floats_narrow, &args, 3, 32);
    stream_mark(side, join);
    stream_after(main, join);
    args.count = 0;                                 // arguments are kept as they were
    stream_copy(main, place + 16, place, 16);
    stream_multiply(main, product, 3, sum + 4, sum + 4, 1, sum, sum);
    Graph* graph = graph_end(main);
    CHECK(graph && !open.failure() && place[0] == 0);
    CHECK(fake::calls["cudaGraphUpload"] == 1);
    for (int i = 1; i < 4; i++) {
        host[0] = (char)(40 + i);                   // what a graph uploads may change
        stream_replay(main, graph);
        CHECK(stream_wait(main) == 0);
        CHECK(place[0] == i && place[16] == i && place[24] == 40 + i && *sum == 12 * i);
    }
    stream_mark(side, join);                        // both are streams as before
    CHECK(event_wait(join) == 0 && stream_wait(side) == 0);
    graph_begin(main);
    CHECK(graph_end(main) && !open.failure());      // a graph of nothing
    const int kept = fake::living();
    graph_free(graph);
    graph_free(NULL);
    CHECK(fake::living() == kept - 1 && !open.failure());
}

// What CUDA would refuse has a sentence of its own, and leaves a device that can be closed
static void graphs_that_are_none() {
    static char pageable[64];
    for (int kind = 0; kind < 9; kind++) {
        Open open;
        Stream* main = stream_open(open.device);
        Stream* side = stream_open(open.device);
        Event* outside = event_open(open.device);
        Event* event = event_open(open.device);
        char* place = (char*)device_memory(open.device, 64);
        stream_mark(side, outside);
        stream_after(main, event);                  // never marked: nothing to wait for
        graph_begin(main);
        stream_mark(main, event);
        const char* want = "";
        switch (kind) {
        case 0: stream_after(main, outside), want = "come after what is not in it"; break;
        case 1: CHECK(stream_wait(main) == -1); want = "a wait within a graph"; break;
        case 2: CHECK(event_wait(event) == -1); want = "that only a graph knows"; break;
        case 3: stream_upload(main, place, pageable, 64), want = "upload needs pinned"; break;
        case 4: stream_download(main, pageable, place, 64), want = "download needs pinned"; break;
        case 5: graph_begin(side), want = "begun within a graph"; break;
        case 6: stream_after(side, event), stream_fill(side, place, 1, 64);
                want = "did not come back"; break;
        case 7: CHECK(!graph_end(side)); want = "not begun in this stream"; break;
        case 8: CHECK(graph_end(main)); stream_after(side, event);
                want = "a mark that only a graph knows"; break;
        }
        CHECK(!graph_end(main));
        CHECK(has(open.failure(), want));
        CHECK(stream_wait(side) == -1 && !stream_open(open.device));
    }
    Open open;                                      // closed while a graph is begun
    graph_begin(stream_open(open.device));
}

static void failures() {
    {
        Open open;
        Stream* stream = stream_open(open.device);
        Event* event = event_open(open.device);
        uint16_t* place = (uint16_t*)device_memory(open.device, 64);
        FloatsNarrowArgs args = {1, NULL, place};
        stream_launch(stream, KERNEL_floats_narrow, &args, 1, 257);
        CHECK(has(open.failure(), "kernel floats_narrow cannot be launched as 1 blocks of 257"));
        const std::string first = open.failure();
        const int copies = fake::calls["cudaMemsetAsync"];
        stream_fill(stream, place, 1, 64);
        stream_launch(stream, -1, &args, 1, 1);
        CHECK(fake::calls["cudaMemsetAsync"] == copies && place[0] == 0);
        stream_mark(stream, event);                     // CUDA is asked for nothing any more
        CHECK(fake::calls["cudaEventRecord"] == 0);
        CHECK(stream_wait(stream) == -1 && first == open.failure());
        CHECK(!device_memory(open.device, 1) && !event_open(open.device));
    }
    {
        Open open;
        Stream* stream = stream_open(open.device);
        FloatsNarrowArgs args = {0, NULL, NULL};
        stream_launch(stream, KERNEL_floats_narrow, &args, 1, 32);
        CHECK(!open.failure() && fake::launched.back() == "floats_narrow");
        fake::broken = cudaErrorIllegalAddress;     // found by whoever waits
        CHECK(stream_wait(stream) == -1);
        CHECK(device_fault(open.device)
              == (has(open.failure(), "the GPU stopped") ? DEVICE_STOPPED : DEVICE_FAILED));
        CHECK(has(open.failure(), "the GPU stopped: what CUDA says (cudaErrorIllegalAddress)")
              || has(open.failure(), "CUDA refused"));
        CHECK(has(open.failure(), "cudaErrorIllegalAddress"));
        fake::broken = cudaSuccess;
    }
    {
        Open open;
        Stream* stream = stream_open(open.device);
        FloatsNarrowArgs args = {0, NULL, NULL};
        stream_launch(stream, KERNEL_floats_narrow, &args, 1, 32);
        fake::refuse["cudaStreamSynchronize"] = cudaErrorIllegalAddress;
        CHECK(stream_wait(stream) == -1);
        CHECK(has(open.failure(), "the last that it was given was floats_narrow"));
    }
    {
        Open open;
        Stream* stream = stream_open(open.device);
        FloatsNarrowArgs args = {0, NULL, NULL};
        fake::refuse_driver["LaunchKernel"] = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
        stream_launch(stream, KERNEL_floats_narrow, &args, 1, 32);
        CHECK(has(open.failure(), "refused the kernel floats_narrow: what the driver says"));
    }
}

static DeviceTally find(Device* device, const char* name) {
    DeviceTally found;
    for (int i = 0; device_tally(device, i, &found); i++)
        if (!strcmp(found.name, name)) return found;
    return DeviceTally{NULL, 0, 0, 0, 0};
}

static void timing() {
    Open open;
    Stream* stream = stream_open(open.device);
    char* place = (char*)device_memory(open.device, 4096);
    char* host = (char*)device_pinned(open.device, 64);
    FloatsNarrowArgs args = {3, (const float*)place, (uint16_t*)place};
    const ProductShape shape = {"layers", 4, 4, 4, 0, 0, 4, 4, 4, 2, 16, 16, 16, 1};
    Product* product = product_open(open.device, &shape);
    Product* again = product_open(open.device, &shape);
    stream_fill(stream, place, 0, 64);
    DeviceTally nothing;
    CHECK(!device_tally(open.device, 0, &nothing));
    device_time(open.device, 1);
    device_range(open.device, "a range"), device_range(open.device, NULL);
    const int waits = fake::calls["cudaDeviceSynchronize"];
    const size_t before = fake::launched.size();    // of what was timed with nothing in it
    for (int i = 0; i < 3; i++) stream_launch(stream, KERNEL_floats_narrow, &args, 1, 32);
    stream_multiply(stream, product, 1, place, place + 128, 0, NULL, (float*)(place + 256));
    stream_multiply(stream, again, 1, place, place + 128, 1, (float*)(place + 256),
                    (float*)(place + 256));
    stream_copy(stream, place + 1024, place, 64);
    stream_upload(stream, place, host, 64);
    graph_begin(stream);
    stream_fill(stream, place, 0, 64);
    stream_replay(stream, graph_end(stream));
    CHECK(!open.failure());
    DeviceTally found = find(open.device, "floats_narrow");
    CHECK(found.calls == 3 && fabs(found.seconds - 3e-3) < 1e-5);     // without the delays
    CHECK(found.bytes == 3 * cuda_traffic(KERNEL_floats_narrow, &args) && found.bytes > 0);
    found = find(open.device, "layers");
    CHECK(found.calls == 2 && found.flops == 2 * 2 * 2.0 * 64 && fabs(found.seconds - 2e-3) < 1e-5);
    CHECK(found.bytes == 2 * (64 + 64) + 2 * (64 + 128));   // bf16 in; out, and once in as well
    CHECK(find(open.device, "copy").bytes == 128 && find(open.device, "upload").bytes == 64);
    CHECK(find(open.device, "fill").calls == 0);
    CHECK(fake::calls["cudaDeviceSynchronize"] == waits + 7);       // each by itself
    CHECK(fake::launched.size() == before + 7 + 3 && has(fake::launched[0].c_str(), "wait_until"));
    device_time(open.device, 0);
    stream_fill(stream, place, 0, 64);
    CHECK(find(open.device, "fill").calls == 0 && find(open.device, "layers").calls == 2);
    device_time(open.device, 1);                    // from the start again
    CHECK(!device_tally(open.device, 0, &nothing));
    CHECK(fabs(device_copy_rate(open.device, 1000) - 2e6) < 2e3);   // 1000 bytes in a millisecond
    const double rate = device_product_rate(open.device, 1);
    CHECK(!open.failure() && fabs(rate / (2e3 * 8192 * 8192 * 8192) - 1) < 1e-3);
    CHECK(fabs(device_product_rate(open.device, 0) / (2e3 * 4096 * 4096 * 4096) - 1) < 1e-3);
    fake::memory = 4000;
    CHECK(device_copy_rate(open.device, 4000) == 0 && !open.failure());
    fake::memory = (size_t)1 << 40;
}

// Two GPUs, or one that is opened twice
static void meet(int other_number, bool peers, size_t ways) {
    fake::devices = 2, fake::peers = peers;
    Open open;
    Device* other = device_open(other_number, &fault, error);
    CHECK(other);
    device_meet(open.device, other);
    CHECK(fake::ways.size() == ways && !open.failure() && !device_failure(other));
    Stream *here = stream_open(open.device), *there = stream_open(other);
    char *mine = (char*)device_memory(open.device, 64), *its = (char*)device_memory(other, 64);
    char* block = (char*)aligned_alloc(4096, 4096);
    Event* event = event_open(open.device);
    CHECK(device_pin(open.device, block, 4096) == 0);
    block[0] = 3;
    stream_upload(here, mine, block, 64);
    stream_mark(here, event);
    stream_after(there, event);
    stream_copy(there, its, mine, 64);
    graph_begin(there);                             // what the one has pinned, the other may read
    stream_download(there, block + 64, its, 64);
    stream_replay(there, graph_end(there));
    CHECK(stream_wait(there) == 0 && block[64] == 3);
    CHECK(!open.failure() && !device_failure(other));
    graph_begin(there);
    stream_after(there, event);                     // a graph knows nobody else's marks
    CHECK(has(device_failure(other), "come after what is not in it"));
    device_close(other);
    CHECK(!open.failure());
    device_unpin(open.device, block);
    free(block);
}

static void meeting() {
    meet(1, true, 2);
    meet(1, true, 2);                               // the ways are open: CUDA says so, and fine
    fake::ways.clear();
    meet(1, false, 0);                              // copies go through the host
    meet(0, true, 0);
    fake::devices = 1;
}

static const char* file_of(const char* text) {
    static char path[] = "/tmp/puffer_check_XXXXXX";
    if (strchr(path, 'X')) close(mkstemp(path));
    FILE* file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    return path;
}

static void programs() {
    Open open;
    int *seen = (int*)device_memory(open.device, 64), host = 0;
    struct { int* place; int more[30]; } args = {seen, {0}};
    Stream* stream = stream_open(open.device);
    CHECK(device_heap(open.device, 123456) == 123456 && fake::heap == 123456);
    const char* path = file_of("cubin 90\nfirst\nsecond\n");
    Program* program = program_open(open.device, path, error);
    said = error;
    remove(path);                                   // it was read
    CHECK(program && !open.failure());
    CHECK(device_heap(open.device, 99) == 123456 && fake::heap == 123456 && !open.failure());
    CHECK(cudaGetLastError() == cudaSuccess);
    const size_t threads = 3 * 2048, kib = 1024;    // of three multiprocessors
    CHECK(device_stack(open.device, 64 * kib, threads * 900) == 1024 && fake::stack == 1024);
    CHECK(device_stack(open.device, 64 * kib, threads * (5 * kib - 1)) == 4 * kib);
    CHECK(device_stack(open.device, 64 * kib, threads * 3 * kib) == 4 * kib);    // never less
    fake::refuse["cudaDeviceSetLimit"] = cudaErrorMemoryAllocation;
    CHECK(device_stack(open.device, 64 * kib, threads * 100 * kib) == 4 * kib && !open.failure());
    CHECK(device_stack(open.device, 64 * kib, threads * 100 * kib) == 64 * kib);
    CHECK(fake::stack == 64 * kib && cudaGetLastError() == cudaSuccess);
    CHECK(program_kernel(program, "first") == 0 && program_kernel(program, "second") == 1);
    CHECK(program_kernel(program, "first") == 0 && fake::calls["cuModuleGetFunction"] == 2);
    CHECK(program_kernel(program, "third") == -1 && !open.failure());
    stream_call(stream, program, 1, &args, sizeof args, 3, 32);
    CHECK(stream_wait(stream) == 0 && *seen == 1 && fake::launched.back() == "second");
    graph_begin(stream);
    stream_call(stream, program, 0, &args, sizeof args, 3, 32);
    args.place = NULL;                              // arguments are kept as they were
    Graph* graph = graph_end(stream);
    CHECK(graph && *seen == 1);
    for (int i = 2; i < 5; i++) {
        stream_replay(stream, graph);
        CHECK(stream_wait(stream) == 0 && *seen == i);
    }
    device_time(open.device, 1);
    args.place = seen;
    for (int i = 0; i < 3; i++) stream_call(stream, program, 0, &args, sizeof args, 1, 32);
    stream_download(stream, &host, seen, sizeof host);
    DeviceTally found = find(open.device, "first");
    CHECK(found.calls == 3 && fabs(found.seconds - 3e-3) < 1e-5 && host == 7);
    CHECK(find(open.device, "second").calls == 0);
    device_time(open.device, 0);
    device_time(open.device, 1);
    CHECK(find(open.device, "first").calls == 0 && !open.failure());
}

// What does not load is told and leaves a device that goes on; what does not start ends it
static void programs_that_are_none() {
    const char* path = file_of("cubin 90\nfirst\n");
    {
        Open open;
        CHECK(!program_open(open.device, "/nowhere/a.cubin", error));
        CHECK(has(error, "the program cannot be read: No such file") && has(error, "\t/nowhere/a"));
        CHECK(!program_open(open.device, file_of("cubin 120\nfirst\n"), error));
        CHECK(has(error, "was not compiled for this GPU, which is sm_90\t/"));
        CHECK(!program_open(open.device, file_of("<html>"), error));
        CHECK(has(error, "refused to load the program: what the driver says (CUDA_ERROR_INVALID"));
        file_of("cubin 90\nfirst\n");
        fake::refuse_driver["ModuleLoadData"] = CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
        CHECK(!program_open(open.device, path, error) && has(error, "no memory left for the"));
        CHECK(!open.failure() && program_open(open.device, path, error));
        CHECK(program_kernel(NULL, "first") == -1);
    }
    int* args = NULL;
    for (int kind = 0; kind < 5; kind++) {
        Open open;
        Stream* stream = stream_open(open.device);
        Program* program = program_open(open.device, path, error);
        CHECK(program && program_kernel(program, "first") == 0);
        const char* want = "";
        switch (kind) {
        case 0: stream_call(stream, program, 1, &args, 8, 1, 32); want = "of that number"; break;
        case 1: stream_call(stream, program, 0, &args, 8, 0, 32);
                want = "first cannot be launched as 0 blocks of 32"; break;
        case 2: fake::refuse_driver["LaunchKernel"] = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
                stream_call(stream, program, 0, &args, 8, 1, 32);
                want = "refused the kernel first: what the driver says (an unknown error)"; break;
        case 3: fake::refuse_driver["ModuleGetFunction"] = CUDA_ERROR_ILLEGAL_ADDRESS;
                CHECK(program_kernel(program, "other") == -1);
                want = "refused to find the kernel other"; break;
        case 4: graph_begin(stream);
                CHECK(!program_open(open.device, path, error) && has(error, "within a graph"));
                want = "opened within a graph"; break;
        }
        CHECK(has(open.failure(), want) && stream_wait(stream) == -1);
        CHECK(device_heap(open.device, 1) == 0 && device_stack(open.device, 1, 1) == 0);
        CHECK(program_kernel(program, "first") == -1);
    }
    {
        Open open;
        Stream* stream = stream_open(open.device);
        int* place = (int*)device_memory(open.device, 64);
        Program* program = program_open(open.device, path, error);
        stream_call(stream, program, program_kernel(program, "first"), &place, 8, 1, 32);
        fake::refuse["cudaStreamSynchronize"] = cudaErrorIllegalAddress;
        CHECK(stream_wait(stream) == -1 && has(open.failure(), "it was given was first"));
    }
    remove(path);
}

int main(int count, char** words) {
    static const struct { const char* name; void (*run)(); } checks[] = {
        {"opening", opening}, {"memory", memory}, {"pinning", pinning}, {"products", products},
        {"a_sum_in_other_memory", a_sum_in_other_memory},
        {"shapes_that_are_none", shapes_that_are_none}, {"graphs", graphs},
        {"graphs_that_are_none", graphs_that_are_none}, {"failures", failures},
        {"meeting", meeting}, {"timing", timing}, {"programs", programs},
        {"programs_that_are_none", programs_that_are_none}};
    if (count == 2) number("fake_living") = 0;
    for (const auto& check : checks) {
        if (count == 1) puts(check.name);
        if (count == 2 && !strcmp(words[1], check.name)) {
            check.run();
            printf("%d checked\n", checked);
            return checked ? 0 : 1;
        }
    }
    return count == 1 ? 0 : 2;
}
