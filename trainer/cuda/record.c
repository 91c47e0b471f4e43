/* record.c -- what every other file calls: the clock, the failure of a device, recorded graphs. */
#include "internal.h"
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

int32_t device_failed(const PufferTrainer* trainer, char* error) {
    const char* text = NULL;
    for (int32_t i = 0; i < trainer->config.gpus && !text; i++)
        text = device_failure(trainer->ranks[i].device);
    return fail(error, "%s", text ? text : "the GPU failed and did not say why");
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
