/* queues.h -- when the emulated device does what it was given.  calls -> their effects
 *
 * A queue runs as far as somebody needs it: the host that waits, or a stream that comes after it.
 * Dependencies go only to earlier calls, so that following them ends. */
#pragma once
#include "state.h"

namespace emulated {

inline DeviceTally* tally_of(Device* device, const char* name) {
    for (auto& tally : device->tallies)
        if (!strcmp(tally.name, name)) return &tally;
    device->tallies.push_back(DeviceTally{name, 0, 0.0, 0.0, 0.0});
    return &device->tallies.back();
}

inline void perform(Device* device, const Call& call, bool timed) {
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
inline void run_branch(Device* device, Graph* graph, Stream* which, int64_t until) {
    Branch& branch = graph->branches[which];
    while (branch.done < until) {
        const Call& call = branch.calls[(size_t)branch.done];
        if (call.other) run_branch(device, graph, call.other, call.position);
        else perform(device, call, false);
        branch.done++;
    }
}

inline void run_graph(Device* device, Graph* graph) {
    graph->pending--;
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
    run_branch(device, graph, graph->first, (int64_t)graph->branches[graph->first].calls.size());
}

inline void run_stream(Stream* stream, int64_t until) {
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

inline void run_all(Device* device) {    // the last stream first
    for (size_t i = device->streams.size(); i-- > 0;)
        run_stream(device->streams[i].get(), device->streams[i]->given);
}

inline void give(Stream* stream, Call call) {
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
inline bool refuse_in_capture(Device* device, const char* who) {
    if (device->capture) fail(device, "%s while a graph is captured", who);
    return failed(device);
}

inline int32_t report(const Device* device) { return failed(device) ? -1 : 0; }

}    // namespace emulated
