/* advantage.cuh -- advantages from the current V and w, and how they are normalised. */
#pragma once
#include "common.cuh"

CUDA_KERNEL(live_count, LiveCountArgs) {
    CUDA_EACH(i, a.N) {
        int ticks = 0;
        for (int64_t t = 0; t < a.T; t++) ticks += a.live[(int64_t)i * a.T + t] != 0.0f;
        a.ticks[i] = ticks;
    }
}

// Of the segment that begins at a row
KERNEL_INLINE void note_return(const EpochBeginArgs* a, int64_t at) {
    float highest = earned_return(a->rewards + at, a->ended + at, a->truncated + at, a->T, a->gamma,
                                  a->reward_clip > 0.0f ? a->reward_clip : 3.4e38f);
    cuda_least(a->highest, ~(uint64_t)(uint32_t)f_bits(highest));
}

CUDA_KERNEL(epoch_begin, EpochBeginArgs) {
    CUDA_EACH(i, a.count) {
        a.values_now[i] = a.values[i];
        a.ratio_now[i] = 1.0f;
        if (a.reward_clip > 0.0f && fabsf(a.rewards[i]) > a.reward_clip) cuda_count(a.clipped);
        if (i % (uint32_t)a.T == 0) note_return(&a, (int64_t)i);
    }
}

// ---- judging ----------------------------------------------------------------------------------

enum { SUM_A, SUM_A2, SUM_ABS, SUM_R, SUM_R2, SUM_LANES = 8 };

// The error of one tick, and how much of the next tick's advantage comes on top
typedef struct {
    F delta, fade;
} TickDelta;

KERNEL_INLINE TickDelta tick_delta(const AdvantagesComputeArgs* a, int64_t segment, int t) {
    int64_t at = segment * a->T + t;
    F zero = f_set(0.0f), limit = f_set(a->reward_clip > 0.0f ? a->reward_clip : 3.4e38f);
    F w = a->ratio[at], over = a->ended[at];
    TickDelta nothing = {zero, zero};
    if (a->live && a->live[at] == 0.0f) return nothing;
    int last = t + 1 == a->T || (a->live && a->live[at + 1] == 0.0f);
    F next = last ? a->bootstrap[segment] : a->values[at + 1];
    F reward = f_max(zero - limit, f_min(limit, a->rewards[at])) * f_set(a->schedule->reward_scale);
    TickDelta out;
    F final = a->final_values ? a->final_values[at] : a->values[at];
    out.delta = f_delta(reward, a->values[at], next, over, a->truncated[at], final,
                        f_set(a->schedule->highest_value), f_min(f_set(a->rho_clip), w),
                        f_set(a->gamma));
    F decay = f_set(a->gamma * a->gae_lambda);
    out.fade = f_select(f_eq(over, zero), decay * f_min(f_set(a->c_clip), w), zero);
    return out;
}

// What tick t, t + 8, ... add to the sums over a segment
KERNEL_INLINE void sum_lane(const AdvantagesComputeArgs* a, int64_t segment, int lane,
                            double sums[KERNEL_SUMS]) {
    for (int k = 0; k < KERNEL_SUMS; k++) sums[k] = 0.0;
    for (int t = lane; t < a->T; t += SUM_LANES) {
        double A = (double)a->advantages[segment * a->T + t];
        double R = (double)a->returns[segment * a->T + t];
        sums[SUM_A] += A;
        sums[SUM_A2] += A * A;
        sums[SUM_ABS] += A < 0.0 ? -A : A;
        sums[SUM_R] += R;
        sums[SUM_R2] += R * R;
    }
}

// Segment number i of the call, or -1 where there is nothing to do
KERNEL_INLINE int64_t segment_at(const AdvantagesComputeArgs* a, int i) {
    if (i >= a->count) return -1;
    if (!a->which) return i;
    return a->repeated && a->repeated[i] ? -1 : a->which[i];
}

// Ticks come in tiles from the last to the first: all threads make a tile's errors, one thread a
// segment runs the recursion through it, all threads write it
CUDA_KERNEL(advantages_compute, AdvantagesComputeArgs) {
    CUDA_SHARED(float, delta, [CUDA_SEGMENTS][CUDA_TICKS + 1]);
    CUDA_SHARED(float, fade, [CUDA_SEGMENTS][CUDA_TICKS + 1]);
    CUDA_SHARED(float, later, [CUDA_SEGMENTS]);
    CUDA_SHARED(double, lanes, [CUDA_SEGMENTS * SUM_LANES][KERNEL_SUMS]);
    int groups = (a.count + CUDA_SEGMENTS - 1) / CUDA_SEGMENTS;
    if (a.results && a.results->stop) return;    // what went bad stays to be looked at
    CUDA_BLOCKS(group, groups) {
        int first = group * CUDA_SEGMENTS;
        for (int begin = (a.T - 1) / CUDA_TICKS * CUDA_TICKS; begin >= 0; begin -= CUDA_TICKS) {
            int ticks = a.T - begin < CUDA_TICKS ? a.T - begin : CUDA_TICKS;
            CUDA_PHASE(thread)
                CUDA_SHARE(i, thread, CUDA_SEGMENTS * CUDA_TICKS) {
                    int row = i / CUDA_TICKS, tick = i % CUDA_TICKS;
                    int64_t segment = segment_at(&a, first + row);
                    if (segment < 0 || tick >= ticks) continue;
                    TickDelta now = tick_delta(&a, segment, begin + tick);
                    delta[row][tick] = now.delta;
                    fade[row][tick] = now.fade;
                }
            CUDA_PHASE(thread)
                CUDA_SHARE(row, thread, CUDA_SEGMENTS) {
                    if (segment_at(&a, first + row) < 0) continue;
                    int tick = ticks - 1, last = begin + ticks == a.T;
                    F advantage = delta[row][tick];
                    if (!last) advantage = f_fma(fade[row][tick], later[row], advantage);
                    delta[row][tick] = advantage;
                    while (--tick >= 0) {
                        advantage = f_fma(fade[row][tick], advantage, delta[row][tick]);
                        delta[row][tick] = advantage;
                    }
                    later[row] = advantage;
                }
            CUDA_PHASE(thread)
                CUDA_SHARE(i, thread, CUDA_SEGMENTS * CUDA_TICKS) {
                    int row = i / CUDA_TICKS, tick = i % CUDA_TICKS;
                    int64_t segment = segment_at(&a, first + row);
                    if (segment < 0 || tick >= ticks) continue;
                    int64_t at = segment * a.T + begin + tick;
                    a.advantages[at] = delta[row][tick];
                    a.returns[at] = delta[row][tick] + a.values[at];
                }
        }
        CUDA_PHASE(thread)
            CUDA_SHARE(i, thread, CUDA_SEGMENTS * SUM_LANES) {
                int64_t segment = segment_at(&a, first + i / SUM_LANES);
                if (segment >= 0) sum_lane(&a, segment, i % SUM_LANES, lanes[i]);
            }
        CUDA_PHASE(thread)
            CUDA_SHARE(i, thread, CUDA_SEGMENTS * KERNEL_SUMS) {
                int row = i / KERNEL_SUMS, k = i % KERNEL_SUMS;
                int64_t segment = segment_at(&a, first + row);
                if (segment < 0) continue;
                double sum = 0.0;
                for (int lane = 0; lane < SUM_LANES; lane++)
                    sum += lanes[row * SUM_LANES + lane][k];
                a.sums[segment * KERNEL_SUMS + k] = sum;
                if (k == SUM_ABS && a.prio_alpha != 0.0)
                    a.weights[segment] = pow(sum, a.prio_alpha) + 1e-6;
            }
    }
}

// ---- normalising ------------------------------------------------------------------------------

// Mean and scale of the advantages, from their sum, the sum of their squares and their number, which
// is 0 where a caller picked nothing but segments in which nobody lived
KERNEL_INLINE void set_normalisation(CudaResults* results, int norm_adv, double sum, double squares,
                                     double count) {
    if (count < 1.0) count = 1.0;
    results->live = (int32_t)count;
    double mean = sum / count, variance = squares / count - mean * mean;
    results->mean = norm_adv ? (float)mean : 0.0f;
    results->scale = norm_adv ? (float)(1.0 / (sqrt(variance > 0.0 ? variance : 0.0) + 1e-8))
                              : 1.0f;
}

CUDA_KERNEL(batch_measure, BatchMeasureArgs) {
    CUDA_SHARED(double, sum, [CUDA_LANES]);
    CUDA_SHARED(double, squares, [CUDA_LANES]);
    CUDA_SHARED(double, count, [CUDA_LANES]);
    if (BLOCK) return;
    CUDA_PHASE(thread)
        CUDA_SHARE(lane, thread, CUDA_LANES) {
            sum[lane] = squares[lane] = count[lane] = 0.0;
            for (int i = lane; i < a.S; i += CUDA_LANES) {
                const double* segment = a.sums + (int64_t)a.rows[i] * KERNEL_SUMS;
                sum[lane] += segment[SUM_A];
                squares[lane] += segment[SUM_A2];
                count[lane] += a.ticks ? a.ticks[a.rows[i]] : a.T;
            }
        }
    CUDA_SUM_LANES(sum);
    CUDA_SUM_LANES(squares);
    CUDA_SUM_LANES(count);
    CUDA_PHASE(thread) {
        if (thread) continue;
        if (!a.totals) {
            set_normalisation(a.results, a.norm_adv, sum[0], squares[0], count[0]);
            continue;
        }
        a.totals[0] = sum[0];
        a.totals[1] = squares[0];
        a.totals[2] = count[0];
    }
}

CUDA_KERNEL(ranks_measure, RanksMeasureArgs) {
    CUDA_EACH(i, 1) {
        double sum[CUDA_TOTALS];
        for (int k = 0; k < CUDA_TOTALS; k++) {
            sum[k] = a.totals[i + k];
            for (int rank = 1; rank < a.ranks; rank++) sum[k] += a.totals[CUDA_TOTALS * rank + k];
        }
        set_normalisation(a.results, a.norm_adv, sum[0], sum[1], sum[2]);
    }
}

CUDA_KERNEL(obs_gather, ObsGatherArgs) {
    CUDA_EACH(i, a.S * a.T * a.ldw) {
        uint32_t row = i / (uint32_t)a.ldw, d = i % (uint32_t)a.ldw;
        uint32_t s = row / (uint32_t)a.T, t = row % (uint32_t)a.T;
        int64_t from = ((a.rows ? a.rows[s] : (int64_t)s) * a.T + t) * a.D + d;
        write_operand(a.wide, a.narrow, i,
                      (int)d < a.D ? obs_float(a.obs, a.obs_dtype, from) : 0.0f);
    }
}
