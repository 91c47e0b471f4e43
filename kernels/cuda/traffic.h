/* traffic.h -- what a launch reads and writes.  a kernel, its arguments -> arrays, bytes
 *
 * On the host, only from sizes: device memory is not read. An array that is read and written
 * counts twice, and NULL not at all. So this is what a launch has to move, not what it moves: gaps
 * between the rows of an array are left out, and what is read again from a cache.
 *
 * What only the device knows is taken as it mostly is: t is within the horizon, nothing stops, no
 * segment is picked twice, a chunk has CUDA_CHUNK weights, and of `ldo` columns of logits all but
 * one are logits, of one head. */
#pragma once
#include <stddef.h>
#include "contract.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_MOST_ARRAYS 24    // of a kernel

typedef struct CudaArray {
    const void* place;    // NULL: the kernel does without
    double bytes;         // that are read or written, from there on or in rows
    int32_t times;        // 1: read or written; 2: both
} CudaArray;

typedef struct CudaArrays {
    int32_t count;
    CudaArray array[CUDA_MOST_ARRAYS];
} CudaArrays;

static inline void cuda_array(CudaArrays* to, const void* place, double bytes, int32_t times) {
    CudaArray array;
    array.place = place;
    array.bytes = bytes;
    array.times = times;
    to->array[to->count++] = array;
}

#define ONCE(place, number)   cuda_array(to, a->place, (double)(number) * sizeof *a->place, 1)
#define TWICE(place, number)  cuda_array(to, a->place, (double)(number) * sizeof *a->place, 2)
#define BYTES(place, number)  cuda_array(to, a->place, (double)(number), 1)
#define ARRAYS_OF(NAME, ARGS) static inline void arrays_of_##NAME(const ARGS* a, CudaArrays* to)

ARRAYS_OF(final_obs_keep, FinalObsKeepArgs) {
    double rows = a->rows;
    ONCE(tick, 1);
    ONCE(truncations, rows);
    BYTES(final_obs, 0);    // where an episode was cut off, and so are the next
    ONCE(has_final, 0);
    ONCE(live, 0);
    ONCE(counts, 0);
    ONCE(state, 0);
    BYTES(kept_obs, 0);
    ONCE(kept_state, 0);
    ONCE(kept_ticks, 0);
    ONCE(ended, 0);
    ONCE(moves, 0);
}

ARRAYS_OF(tick_next, TickNextArgs) { TWICE(tick, 1); }

ARRAYS_OF(tick_begin, TickBeginArgs) {
    double rows = a->rows, D = a->D, obs = a->obs_dtype == CUDA_U8 ? 1.0 : 4.0;
    ONCE(tick, 1);
    BYTES(obs, rows * D * obs);
    ONCE(rewards, rows);
    ONCE(terminals, rows);
    ONCE(truncations, rows);
    BYTES(stored_obs, rows * D * obs);
    ONCE(stored_rewards, rows);
    ONCE(ended, rows);
    ONCE(truncated, rows);
    ONCE(alive, rows);
    ONCE(live, rows);
    ONCE(mask, rows * a->A);
    ONCE(moves, rows);
    ONCE(waits, rows);
    ONCE(wide, rows * a->ldw);
    ONCE(narrow, rows * a->ldw);
    ONCE(state, 0);    // where an episode ended, and at t = 0
    ONCE(has_final, 0);
    ONCE(counts, 0);
    ONCE(state0, 0);
    ONCE(fault, 0);
}

ARRAYS_OF(gates_step, GatesStepArgs) {
    double units = (double)a->rows * a->H;
    ONCE(tick, 1);
    ONCE(products, 3.0 * units);
    ONCE(x, units);
    ONCE(waits, a->rows);
    TWICE(state, units);
    ONCE(out, units);
    ONCE(narrow, units);
}

ARRAYS_OF(heads_sample, HeadsSampleArgs) {
    double rows = a->rows, A = a->ldo - 1;
    ONCE(tick, 1);
    ONCE(heads, 1);
    ONCE(out, rows * a->ldo);
    ONCE(logstd, 0);
    ONCE(mask, rows * A);
    ONCE(alive, rows);
    ONCE(waits, rows);
    TWICE(moves, rows);
    ONCE(live, rows);
    ONCE(actions, rows);
    ONCE(stored_actions, rows);
    ONCE(logprobs, rows);
    ONCE(values, rows);
    ONCE(stored_masks, a->mask ? rows * A : 0.0);
    ONCE(bootstrap, 0);    // after the last tick
    ONCE(fault, 0);
}

ARRAYS_OF(final_values_store, FinalValuesStoreArgs) {
    double rows = a->rows;
    ONCE(counts, rows);
    ONCE(out, 0);    // of those that have this slot
    ONCE(ticks, 0);
    ONCE(final_values, 0);
    ONCE(fault, 0);
}

ARRAYS_OF(live_count, LiveCountArgs) {
    ONCE(live, (double)a->N * a->T);
    ONCE(ticks, a->N);
}

ARRAYS_OF(epoch_begin, EpochBeginArgs) {
    ONCE(values, a->count);
    ONCE(rewards, a->count);
    ONCE(ended, a->count);
    ONCE(truncated, a->count);
    ONCE(values_now, a->count);
    ONCE(ratio_now, a->count);
    ONCE(clipped, 0);
    ONCE(highest, 0);
}

ARRAYS_OF(advantages_compute, AdvantagesComputeArgs) {
    double segments = a->count, ticks = segments * a->T;
    BYTES(results, sizeof(int32_t));
    BYTES(schedule, 2 * sizeof(float));
    ONCE(which, segments);
    ONCE(repeated, segments);
    ONCE(rewards, ticks);
    ONCE(values, ticks);
    ONCE(ratio, ticks);
    ONCE(ended, ticks);
    ONCE(truncated, ticks);
    ONCE(final_values, ticks);
    ONCE(bootstrap, segments);
    ONCE(live, ticks);
    ONCE(advantages, ticks);
    ONCE(returns, ticks);
    ONCE(sums, segments * KERNEL_SUMS);
    ONCE(weights, a->prio_alpha != 0.0 ? segments : 0.0);
}

ARRAYS_OF(segments_shuffle, SegmentsShuffleArgs) {
    ONCE(schedule, 1);
    ONCE(living, a->N);
    ONCE(orders, (double)a->passes * a->N);
}

ARRAYS_OF(priorities_sum, PrioritiesSumArgs) {
    ONCE(schedule, 1);
    ONCE(living, a->N);
    ONCE(weights, a->N);
    ONCE(cdf, a->N);
}

ARRAYS_OF(segments_pick, SegmentsPickArgs) {
    double draws = a->orders ? 0.0 : a->S;
    ONCE(schedule, 1);
    ONCE(living, draws);
    ONCE(orders, a->S);
    ONCE(weights, draws);
    ONCE(cdf, draws);
    ONCE(rows, a->S);
    ONCE(importance, a->S);
}

ARRAYS_OF(repeats_find, RepeatsFindArgs) {
    ONCE(rows, a->S);
    ONCE(repeated, a->S);
}

ARRAYS_OF(batch_measure, BatchMeasureArgs) {
    ONCE(rows, a->S);
    ONCE(ticks, a->S);
    ONCE(sums, 2.0 * a->S);    // of A and of its square
    ONCE(totals, CUDA_TOTALS);
    BYTES(results, a->totals ? 0.0 : 3.0 * sizeof(float));
}

ARRAYS_OF(ranks_measure, RanksMeasureArgs) {
    ONCE(totals, (double)CUDA_TOTALS * a->ranks);
    BYTES(results, 3 * sizeof(float));
}

ARRAYS_OF(obs_gather, ObsGatherArgs) {
    double ticks = (double)a->S * a->T;
    ONCE(rows, a->S);
    BYTES(obs, ticks * a->D * (a->obs_dtype == CUDA_U8 ? 1.0 : 4.0));
    ONCE(wide, ticks * a->ldw);
    ONCE(narrow, ticks * a->ldw);
}

ARRAYS_OF(scan_forward, ScanForwardArgs) {
    double ticks = (double)a->S * a->T, units = ticks * a->H;
    ONCE(rows, a->S);
    ONCE(ended, ticks);
    ONCE(before, (double)a->S * a->H);
    ONCE(products, 3.0 * units);
    ONCE(x, units);
    ONCE(h, units);
    ONCE(out, units);
    ONCE(narrow, units);
}

ARRAYS_OF(scan_backward, ScanBackwardArgs) {
    double ticks = (double)a->S * a->T, units = ticks * a->H;
    ONCE(rows, a->S);
    ONCE(ended, ticks);
    ONCE(before, (double)a->S * a->H);
    ONCE(products, 3.0 * units);
    ONCE(x, units);
    ONCE(h, units);
    TWICE(dx, units);
    ONCE(dproducts, 3.0 * units);
    ONCE(narrow, 3.0 * units);
}

ARRAYS_OF(heads_loss, HeadsLossArgs) {
    double rows = (double)a->S * a->T, parts = (a->S * a->T + CUDA_ROWS - 1) / CUDA_ROWS;
    ONCE(schedule, 1);
    ONCE(results, 1);
    ONCE(heads, 1);
    ONCE(rows, a->S);
    ONCE(importance, a->S);
    ONCE(repeated, a->S);
    ONCE(out, rows * a->ldo);
    ONCE(logstd, 0);
    ONCE(masks, rows * (a->ldo - 1));
    ONCE(actions, rows);
    ONCE(logprobs, rows);
    ONCE(values, rows);
    ONCE(advantages, rows);
    ONCE(returns, rows);
    ONCE(live, rows);
    ONCE(values_now, rows);
    ONCE(ratio_now, rows);
    ONCE(dout, rows * a->ldo);
    ONCE(narrow, rows * a->ldo);
    ONCE(slopes, 0);    // of continuous heads, like the next
    ONCE(parts, parts * KERNEL_LOSSES);
    ONCE(dlogstd_parts, 0);
}

ARRAYS_OF(columns_sum, ColumnsSumArgs) {
    ONCE(parts, (double)a->parts_count * a->columns);
    ONCE(sums, a->columns);
    ONCE(floats, a->columns);
}

ARRAYS_OF(parts_add, PartsAddArgs) {
    ONCE(source, (double)a->parts * a->count);
    ONCE(obs_scale, a->D);
    ONCE(sums, a->count);
}

ARRAYS_OF(squares_sum, SquaresSumArgs) {
    ONCE(chunk, a->chunks);
    ONCE(x, (double)a->chunks * CUDA_CHUNK);
    ONCE(parts, a->chunks);
}

ARRAYS_OF(update_decide, UpdateDecideArgs) {
    ONCE(squares, 1);
    ONCE(losses, KERNEL_LOSSES);
    TWICE(results, 1);
}

ARRAYS_OF(muon_momentum, MuonMomentumArgs) {
    double weights = (double)a->chunks * CUDA_CHUNK;
    ONCE(results, 1);
    ONCE(chunk, a->chunks);
    ONCE(gradient, weights);
    TWICE(momentum, weights);
    ONCE(update, weights);
    ONCE(parts, a->chunks);
}

ARRAYS_OF(muon_measure, MuonMeasureArgs) {
    ONCE(matrix, a->matrices);
    ONCE(parts, a->matrices);    // one chunk each at least
    ONCE(factors, a->matrices);
}

ARRAYS_OF(muon_normalise, MuonNormaliseArgs) {
    double weights = (double)a->chunks * CUDA_CHUNK;
    ONCE(chunk, a->chunks);
    ONCE(factors, 1);
    ONCE(update, weights);
    ONCE(wide, weights);
    ONCE(narrow, weights);
}

ARRAYS_OF(muon_apply, MuonApplyArgs) {
    double weights = (double)a->chunks * CUDA_CHUNK;
    ONCE(schedule, 1);
    ONCE(results, 1);
    ONCE(chunk, a->chunks);
    ONCE(matrix, 1);
    ONCE(obs_scale, a->D);
    ONCE(X, weights);
    TWICE(weights, weights);
    ONCE(narrow, weights);
}

ARRAYS_OF(adam_step, AdamStepArgs) {
    ONCE(schedule, 1);
    ONCE(results, 1);
    ONCE(gradient, a->count);
    TWICE(m, a->count);
    TWICE(v, a->count);
    TWICE(weights, a->count);
}

ARRAYS_OF(floats_narrow, FloatsNarrowArgs) {
    ONCE(x, a->count);
    ONCE(narrow, a->count);
}

ARRAYS_OF(bad_find, BadFindArgs) {
    ONCE(x, a->count);
    ONCE(where, 0);
}

#undef ONCE
#undef TWICE
#undef BYTES
#undef ARRAYS_OF

// Every array that a launch of this kernel may touch; none for a number that is no kernel's
static inline CudaArrays cuda_arrays(int32_t kernel, const void* args) {
    CudaArrays out;
    int32_t found = 0;
    out.count = 0;
#define ARRAYS_OF_NEXT(NAME, ARGS)                                                                 \
    if (kernel == found++) arrays_of_##NAME((const ARGS*)args, &out);
    CUDA_KERNELS(ARRAYS_OF_NEXT)
#undef ARRAYS_OF_NEXT
    return out;
}

// Bytes read and written
static inline double cuda_traffic(int32_t kernel, const void* args) {
    CudaArrays arrays = cuda_arrays(kernel, args);
    double bytes = 0.0;
    for (int32_t i = 0; i < arrays.count; i++)
        if (arrays.array[i].place) bytes += arrays.array[i].bytes * arrays.array[i].times;
    return bytes;
}

#ifdef __cplusplus
}
#endif
