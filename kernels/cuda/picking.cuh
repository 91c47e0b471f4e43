/* picking.cuh -- the segments of the next minibatch: dealt from a deck, or by priority. */
#pragma once
#include "common.cuh"

// How many segments there are to pick from, and which is number i of them
KERNEL_INLINE int segments_of(const CudaSchedule* schedule, const int32_t* living, int N) {
    return living ? schedule->segments : N;
}

KERNEL_INLINE int segment_of(const int32_t* living, int i) { return living ? living[i] : i; }

// Laps of n segments that fit where there is room for so many of N
KERNEL_INLINE int laps_of(int laps, int N, int n) {
    return n > 0 && n < N ? (int)((int64_t)laps * N / n) : laps;
}

// ---- every segment once a lap -----------------------------------------------------------------

KERNEL_INLINE uint64_t deck_key(const CudaSchedule* schedule, uint32_t i, int lap) {
    PhiloxBlock block = philox_block(schedule->seed, PHILOX_SHUFFLE, i, schedule->epoch,
                                     (uint32_t)lap);
    return (uint64_t)block.word[0] << 32 | block.word[1];
}

// A segment's place is the number of keys below its own: N^2 comparisons, none of which waits
CUDA_KERNEL(deck_shuffle, DeckShuffleArgs) {
    CUDA_SHARED(uint64_t, keys, [CUDA_LANES]);
    CUDA_SHARED(uint64_t, mine, [CUDA_LANES]);
    CUDA_SHARED(int32_t, place, [CUDA_LANES]);
    int n = segments_of(a.schedule, a.living, a.N), laps = laps_of(a.laps, a.N, n);
    int groups = (n + CUDA_LANES - 1) / CUDA_LANES;
    CUDA_BLOCKS(item, groups * laps) {
        int lap = item / groups, first = item % groups * CUDA_LANES;
        int here = n - first < CUDA_LANES ? n - first : CUDA_LANES;
        CUDA_PHASE(thread)
            CUDA_SHARE(i, thread, here) {
                mine[i] = deck_key(a.schedule, a.first + (uint32_t)(first + i), lap);
                place[i] = 0;
            }
        for (int from = 0; from < n; from += CUDA_LANES) {
            int others = n - from < CUDA_LANES ? n - from : CUDA_LANES;
            CUDA_PHASE(thread)
                CUDA_SHARE(i, thread, others)
                    keys[i] = deck_key(a.schedule, a.first + (uint32_t)(from + i), lap);
            CUDA_PHASE(thread)
                CUDA_SHARE(i, thread, here) {
                    int below = 0;    // equal keys by number
                    for (int j = 0; j < others; j++)
                        below += keys[j] < mine[i] || (keys[j] == mine[i] && from + j < first + i);
                    place[i] += below;
                }
        }
        CUDA_PHASE(thread)
            CUDA_SHARE(i, thread, here)
                a.decks[(int64_t)lap * n + place[i]] = segment_of(a.living, first + i);
    }
}

// ---- prioritised ------------------------------------------------------------------------------

CUDA_KERNEL(priorities_sum, PrioritiesSumArgs) {
    CUDA_SHARED(double, starts, [CUDA_LANES]);
    int n = segments_of(a.schedule, a.living, a.N);
    int each = (n + CUDA_LANES - 1) / CUDA_LANES;    // neighbours of one part
    if (BLOCK) return;
    CUDA_PHASE(thread)
        CUDA_SHARE(part, thread, CUDA_LANES) {
            double sum = 0.0;
            for (int i = part * each; i < (part + 1) * each && i < n; i++)
                sum += a.weights[segment_of(a.living, i)];
            starts[part] = sum;
        }
    CUDA_PHASE(thread) {
        double sum = 0.0;
        for (int part = 0; thread == 0 && part < CUDA_LANES; part++) {
            double here = starts[part];
            starts[part] = sum;
            sum += here;
        }
    }
    CUDA_PHASE(thread)
        CUDA_SHARE(part, thread, CUDA_LANES) {
            double sum = starts[part];
            for (int i = part * each; i < (part + 1) * each && i < n; i++)
                a.cdf[i] = sum += a.weights[segment_of(a.living, i)];
        }
}

CUDA_KERNEL(segments_pick, SegmentsPickArgs) {
    int n = segments_of(a.schedule, a.living, a.N), laps = laps_of(a.laps, a.N, n);
    CUDA_EACH(i, a.S) {
        if (a.decks || n == 0) {
            int64_t place = (int64_t)a.schedule->number * a.S + i;
            a.rows[i] = n ? a.decks[place / n % laps * n + place % n] : (int)(i % (uint32_t)a.N);
            a.q[i] = 1.0f;
            continue;
        }
        PhiloxBlock block = philox_block(a.schedule->seed, PHILOX_PRIORITY, a.first + i,
                                         a.schedule->epoch, (uint32_t)a.schedule->number);
        double total = a.cdf[n - 1], target = (double)philox_unit(block.word[0]) * total;
        int low = 0, high = n - 1;    // the first place whose sum is above target
        while (low < high) {
            int middle = low + (high - low) / 2;
            if (a.cdf[middle] > target) high = middle;
            else low = middle + 1;
        }
        int segment = segment_of(a.living, low);
        a.rows[i] = segment;
        a.q[i] = (float)pow((double)n * (a.weights[segment] / total), -a.schedule->prio_beta);
    }
}

CUDA_KERNEL(repeats_find, RepeatsFindArgs) {
    CUDA_EACH(i, a.S) {
        int found = 0;
        for (uint32_t j = 0; j < i; j++) found |= a.rows[j] == a.rows[i];
        a.repeated[i] = (uint8_t)found;
    }
}
