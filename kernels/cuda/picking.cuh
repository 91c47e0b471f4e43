/* picking.cuh -- the segments of the next minibatch: dealt from a deck, or by priority. */
#pragma once
#include "common.cuh"

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
    int groups = (a.N + CUDA_LANES - 1) / CUDA_LANES;
    CUDA_BLOCKS(item, groups * a.laps) {
        int lap = item / groups, first = item % groups * CUDA_LANES;
        int here = a.N - first < CUDA_LANES ? a.N - first : CUDA_LANES;
        CUDA_PHASE(thread)
            CUDA_SHARE(i, thread, here) {
                mine[i] = deck_key(a.schedule, a.first + (uint32_t)(first + i), lap);
                place[i] = 0;
            }
        for (int from = 0; from < a.N; from += CUDA_LANES) {
            int others = a.N - from < CUDA_LANES ? a.N - from : CUDA_LANES;
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
            CUDA_SHARE(i, thread, here) a.decks[(int64_t)lap * a.N + place[i]] = first + i;
    }
}

// ---- prioritised ------------------------------------------------------------------------------

CUDA_KERNEL(priorities_sum, PrioritiesSumArgs) {
    CUDA_SHARED(double, starts, [CUDA_LANES]);
    int each = (a.N + CUDA_LANES - 1) / CUDA_LANES;    // neighbours of one part
    if (BLOCK) return;
    CUDA_PHASE(thread)
        CUDA_SHARE(part, thread, CUDA_LANES) {
            double sum = 0.0;
            for (int i = part * each; i < (part + 1) * each && i < a.N; i++) sum += a.weights[i];
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
            for (int i = part * each; i < (part + 1) * each && i < a.N; i++)
                a.cdf[i] = sum += a.weights[i];
        }
}

CUDA_KERNEL(segments_pick, SegmentsPickArgs) {
    CUDA_EACH(i, a.S) {
        if (a.decks) {
            int64_t place = (int64_t)a.schedule->number * a.S + i;
            a.rows[i] = a.decks[place / a.N % a.laps * a.N + place % a.N];
            a.q[i] = 1.0f;
            continue;
        }
        PhiloxBlock block = philox_block(a.schedule->seed, PHILOX_PRIORITY, a.first + i,
                                         a.schedule->epoch, (uint32_t)a.schedule->number);
        double total = a.cdf[a.N - 1], target = (double)philox_unit(block.word[0]) * total;
        int low = 0, high = a.N - 1;    // the first place whose sum is above target
        while (low < high) {
            int middle = low + (high - low) / 2;
            if (a.cdf[middle] > target) high = middle;
            else low = middle + 1;
        }
        a.rows[i] = low;
        a.q[i] = (float)pow((double)a.N * (a.weights[low] / total), -a.schedule->prio_beta);
    }
}

CUDA_KERNEL(repeats_find, RepeatsFindArgs) {
    CUDA_EACH(i, a.S) {
        int found = 0;
        for (uint32_t j = 0; j < i; j++) found |= a.rows[j] == a.rows[i];
        a.repeated[i] = (uint8_t)found;
    }
}
