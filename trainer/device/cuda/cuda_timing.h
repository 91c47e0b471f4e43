/* cuda_timing.h -- how long things take: each call by itself, and the most that a GPU reaches.
 *
 * A call that is timed waits until the GPU is idle, and then for a delay that the GPU makes, while
 * which the host gives it all there is to do. What the events enclose is the call alone, not the
 * way from the host; what two events without a call measure is taken off.
 */
#pragma once
#include "cuda_state.h"
#include "cuda_products.h"

#define DELAY 50000    // ns; longer than the host needs for three calls
#define TRIES 10

static bool timed(const Stream* stream) {
    return stream->device->timing && !stream->device->capturing;
}

static void time_begin(Stream* stream) {
    Device* device = stream->device;
    if (!agreed(device, cudaDeviceSynchronize(), "to wait", "before a call is timed")) return;
    const WaitUntilArgs delay = {DELAY};
    refused(device, (CUresult)cuda_measure(MEASURE_WAIT, &delay, 1, 1, stream->stream),
            "the kernel", "that delays");
    agreed(device, cudaEventRecord(device->began, stream->stream), "to mark",
           "the time before a call");
}

static double events_apart(Stream* stream) {
    Device* device = stream->device;
    float milliseconds = 0;
    if (!device->failed
        && agreed(device, cudaEventRecord(device->ended, stream->stream), "to mark",
                  "the time after a call")
        && agreed(device, cudaEventSynchronize(device->ended), "to finish", stream->last)
        && agreed(device, cudaEventElapsedTime(&milliseconds, device->began, device->ended),
                  "to time", stream->last))
        return 1e-3 * milliseconds;
    return 0;
}

static double time_end(Stream* stream) {
    const double seconds = events_apart(stream) - stream->device->between;
    return seconds > 0 ? seconds : 0;
}

// The least of some
static void time_nothing(Stream* stream) {
    double least = 1;
    stream->device->between = 0;
    for (int i = 0; i < TRIES && !stream->device->failed; i++) {
        stream->last = "no call";
        time_begin(stream);
        const double seconds = time_end(stream);
        if (seconds < least) least = seconds;
    }
    if (!stream->device->failed) stream->device->between = least;
}

static void add(DeviceTally* tally, double seconds, double bytes, double flops) {
    tally->calls++;
    tally->seconds += seconds;
    tally->bytes += bytes;
    tally->flops += flops;
}

void device_range(Device* device, const char* name) {
    (void)device;
#ifdef DEVICE_NVTX
    if (name) nvtxRangePushA(name);
    else nvtxRangePop();
#else
    (void)name;
#endif
}

static void clear(DeviceTally* tally) {
    tally->calls = 0;
    tally->seconds = tally->bytes = tally->flops = 0;
}

static Stream* bench(Device* device) {
    if (!device->bench) device->bench = stream_open(device);
    return device->bench;
}

void device_time(Device* device, int32_t on) {
    static const char* const copies[COPIES] = {"upload", "download", "copy", "fill"};
    if (on && !device->timing) {
        for (int i = 0; i < KERNELS_OF_DEVICE; i++) {
            device->kernels[i].name = cuda_kernel_name(i);
            clear(&device->kernels[i]);
        }
        for (int i = 0; i < COPIES; i++) {
            device->copies[i].name = copies[i];
            clear(&device->copies[i]);
        }
        for (ProductTally* found = device->tallies; found; found = found->next)
            clear(&found->tally);
        for (Program* program = device->programs; program; program = program->next)
            for (int32_t i = 0; i < program->count; i++) clear(&program->kernels[i].tally);
        if (ready(device) && bench(device)) time_nothing(device->bench);
    }
    device->timing = on != 0;
}

int32_t device_tally(Device* device, int32_t index, DeviceTally* out) {
    for (int i = 0; i < KERNELS_OF_DEVICE; i++)
        if (device->kernels[i].calls && index-- == 0) return *out = device->kernels[i], 1;
    for (Program* program = device->programs; program; program = program->next)
        for (int32_t i = 0; i < program->count; i++)
            if (program->kernels[i].tally.calls && index-- == 0)
                return *out = program->kernels[i].tally, 1;
    for (ProductTally* found = device->tallies; found; found = found->next)
        if (found->tally.calls && index-- == 0) return *out = found->tally, 1;
    for (int i = 0; i < COPIES; i++)
        if (device->copies[i].calls && index-- == 0) return *out = device->copies[i], 1;
    return 0;
}

double device_copy_rate(Device* device, size_t bytes) {
    char* memory = NULL;
    double best = 0;
    if (!ready(device) || !bytes || !bench(device)) return 0;
    if (cudaMalloc((void**)&memory, 2 * bytes) != cudaSuccess) return cudaGetLastError(), 0;
    for (int i = 0; i < TRIES && !device->failed; i++) {
        device->bench->last = "a copy that is measured";
        time_begin(device->bench);
        agreed(device,
               cudaMemcpyAsync(memory + bytes, memory, bytes, cudaMemcpyDeviceToDevice,
                               device->bench->stream),
               "to copy", "for a measurement");
        const double seconds = time_end(device->bench);
        if (seconds > 0 && 2.0 * (double)bytes / seconds > best)
            best = 2.0 * (double)bytes / seconds;
    }
    cudaFree(memory);
    return best;
}

double device_product_rate(Device* device, int32_t narrow) {
    const int32_t n = narrow ? 8192 : 4096;
    const size_t count = (size_t)n * n, size = narrow ? 2 : 4;
    const ProductShape shape = {"that is measured", n, n, n, 0, 0, n, n, n, 1, 0, 0, 0, narrow, 0};
    char* memory = NULL;
    double best = 0;
    if (!ready(device) || !bench(device)) return 0;
    Product* product = product_open(device, &shape);
    if (!product) return 0;
    if (cudaMalloc((void**)&memory, count * (2 * size + 4)) != cudaSuccess)
        return cudaGetLastError(), 0;
    const FillNoiseArgs noise = {narrow ? NULL : (float*)memory, narrow ? (uint16_t*)memory : NULL,
                                 2 * (int64_t)count};
    refused(device, (CUresult)cuda_measure(MEASURE_NOISE, &noise, 1024, 256, device->bench->stream),
            "the kernel", "that fills with noise");
    for (int i = 0; i < TRIES && !device->failed; i++) {
        time_begin(device->bench);
        multiply(device->bench, product, 1, memory, memory + count * size, 0, NULL,
                 (float*)(memory + 2 * count * size));
        const double seconds = time_end(device->bench);
        if (seconds > 0 && product_flops(&shape) / seconds > best)
            best = product_flops(&shape) / seconds;
    }
    cudaFree(memory);
    return best;
}
