/* picking.cuh -- the segments of the next minibatch: dealt from a shuffled order, or by priority. */
#pragma once
#include "common.cuh"

// How many segments there are to pick from, and which is number i of them
KERNEL_INLINE int segments_of(const CudaSchedule* schedule, const int32_t* living, int N) {
    return living ? schedule->segments : N;
}

KERNEL_INLINE int segment_of(const int32_t* living, int i) { return living ? living[i] : i; }

// Laps of n segments that fit where there is room for so many of N
KERNEL_INLINE int passes_of(int passes, int N, int n) {
    return n > 0 && n < N ? (int)((int64_t)passes * N / n) : passes;
}

// ---- every segment once a pass ----------------------------------------------------------------

KERNEL_INLINE uint64_t order_key(const CudaSchedule* schedule, uint32_t i, int epoch_pass) {
    PhiloxBlock block = philox_block(schedule->seed, PHILOX_SHUFFLE, i, schedule->epoch,
                                     (uint32_t)epoch_pass);
    return (uint64_t)block.word[0] << 32 | block.word[1];
}

// Buckets of keys in their order, each of about CUDA_BUCKET
KERNEL_INLINE int bucket_of(uint64_t key, int buckets) {
    return (int)((key >> 32) * (uint64_t)buckets >> 32);
}

typedef struct {    // those of a bucket that a block looks at together
    uint64_t key[CUDA_BIN];
    int32_t number[CUDA_BIN];
} OrderBin;

// Of the bucket's keys, in the order of lanes, numbers from to from + CUDA_BIN - 1
KERNEL_INLINE void fill_bin(const SegmentsShuffleArgs* a, OrderBin* bin, int n, int buckets,
                            int bucket, int epoch_pass, int lane, int at, int from) {
    for (int i = lane; i < n; i += CUDA_LANES) {
        uint64_t key = order_key(a->schedule, a->first + (uint32_t)i, epoch_pass);
        if (bucket_of(key, buckets) != bucket) continue;
        if (at >= from && at < from + CUDA_BIN) {
            bin->key[at - from] = key;
            bin->number[at - from] = i;
        }
        at++;
    }
}

// A segment's place is the number of keys below its own: those of lower buckets, which are only
// counted, and those of its own, with which it is compared
CUDA_KERNEL(segments_shuffle, SegmentsShuffleArgs) {
    CUDA_SHARED(OrderBin, mine, [1]);
    CUDA_SHARED(OrderBin, theirs, [1]);
    CUDA_SHARED(int32_t, place, [CUDA_BIN]);
    CUDA_SHARED(int32_t, inside, [CUDA_LANES]);    // then: of the lanes before
    CUDA_SHARED(int32_t, lower, [CUDA_LANES]);
    CUDA_SHARED(int32_t, sums, [2]);
    int n = segments_of(a.schedule, a.living, a.N), passes = passes_of(a.passes, a.N, n);
    int buckets = (n + CUDA_BUCKET - 1) / CUDA_BUCKET;
    CUDA_BLOCKS(item, buckets * passes) {
        int epoch_pass = item / buckets, bucket = item % buckets;
        CUDA_PHASE(thread)
            CUDA_SHARE(lane, thread, CUDA_LANES) {
                inside[lane] = lower[lane] = 0;
                for (int i = lane; i < n; i += CUDA_LANES) {
                    int at = bucket_of(order_key(a.schedule, a.first + (uint32_t)i, epoch_pass),
                                       buckets);
                    inside[lane] += at == bucket;
                    lower[lane] += at < bucket;
                }
            }
        CUDA_PHASE(thread) {
            if (thread == 0) sums[0] = sums[1] = 0;
            for (int lane = 0; thread == 0 && lane < CUDA_LANES; lane++) {
                int here = inside[lane];
                inside[lane] = sums[0];
                sums[0] += here;
                sums[1] += lower[lane];
            }
        }
        int count = sums[0];
        for (int from = 0; from < count; from += CUDA_BIN) {
            int here = count - from < CUDA_BIN ? count - from : CUDA_BIN;
            CUDA_PHASE(thread) {
                CUDA_SHARE(lane, thread, CUDA_LANES)
                    fill_bin(&a, mine, n, buckets, bucket, epoch_pass, lane, inside[lane], from);
                CUDA_SHARE(i, thread, here) place[i] = sums[1];
            }
            for (int other = 0; other < count; other += CUDA_BIN) {
                int others = count - other < CUDA_BIN ? count - other : CUDA_BIN;
                const OrderBin* against = other == from ? mine : theirs;
                CUDA_PHASE(thread)
                    CUDA_SHARE(lane, thread, other == from ? 0 : CUDA_LANES)
                        fill_bin(&a, theirs, n, buckets, bucket, epoch_pass, lane, inside[lane],
                                 other);
                CUDA_PHASE(thread)
                    CUDA_SHARE(i, thread, here)
                        for (int j = 0; j < others; j++)    // equal keys by number
                            place[i] += against->key[j] < mine->key[i]
                                        || (against->key[j] == mine->key[i]
                                            && against->number[j] < mine->number[i]);
            }
            CUDA_PHASE(thread)
                CUDA_SHARE(i, thread, here)
                    a.orders[(int64_t)epoch_pass * n + place[i]] = segment_of(a.living,
                                                                              mine->number[i]);
        }
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
    int n = segments_of(a.schedule, a.living, a.N), passes = passes_of(a.passes, a.N, n);
    CUDA_EACH(i, a.S) {
        if (a.orders || n == 0) {
            int64_t place = (int64_t)a.schedule->number * a.S + i;
            a.rows[i] = n ? a.orders[place / n % passes * n + place % n] : (int)(i % (uint32_t)a.N);
            a.importance[i] = 1.0f;
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
        a.importance[i] = (float)pow((double)n * (a.weights[segment] / total),
                                     -a.schedule->prio_beta);
    }
}

CUDA_KERNEL(repeats_find, RepeatsFindArgs) {
    CUDA_EACH(i, a.S) {
        int found = 0;
        for (uint32_t j = 0; j < i; j++) found |= a.rows[j] == a.rows[i];
        a.repeated[i] = (uint8_t)found;
    }
}
