/* record.c -- what every other file calls: the clock, the failure of a device, recorded graphs. */
#include "internal.h"
#include <string.h>
#include <time.h>

uint64_t clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void mark(Worker* worker, int phase) {
    uint64_t now = clock_now();
    worker->ticks[phase] += now - worker->since;
    worker->since = now;
}

int32_t error_kind(int32_t fault) {
    static const int32_t kinds[DEVICE_FAULTS] = {
        [DEVICE_STOPPED] = PUFFER_TRAINER_GPU_STOPPED,
        [DEVICE_OUT_OF_MEMORY] = PUFFER_TRAINER_OUT_OF_MEMORY,
        [DEVICE_NO_BF16] = PUFFER_TRAINER_NO_BF16,
        [DEVICE_BUSY] = PUFFER_TRAINER_GPU_BUSY};    // else PUFFER_TRAINER_FAILED, which is 0
    return kinds[fault];
}

int32_t device_failed(const PufferTrainer* trainer, Error* error) {
    for (int32_t i = 0; i < trainer->config.gpus; i++) {
        Device* device = trainer->ranks[i].device;
        const char* text = device_failure(device);
        if (!text) continue;
        int32_t kind = error_kind(device_fault(device));
        if (kind != PUFFER_TRAINER_OUT_OF_MEMORY) return fail_as(error, kind, "%s", text);
        DeviceFacts facts;
        device_facts(device, &facts);
        int what = (int)strcspn(text, "\t");
        return fail_as(error, kind, "%.*s, %lld MiB of the GPU's are not in use%s", what, text,
                       (long long)(facts.unused >> 20), text + what);
    }
    return fail(error, "the GPU failed for an unknown reason");
}

void run_recorded(Rank* rank, Stream* stream, Recorded* recorded, Calls calls, void* about) {
    if (rank->trainer->config.timed || recorded->runs++ == 0) {
        calls(rank, stream, about);
        return;
    }
    if (!recorded->graph) {
        graph_begin(stream);
        calls(rank, stream, about);
        recorded->graph = graph_end(stream);
    }
    if (recorded->graph) stream_replay(stream, recorded->graph);
}
