/* picking.c -- advantages from the current V and w, and the segments of the next minibatch. */
#include "internal.h"
#include <math.h>
#include <string.h>

enum { SUM_A, SUM_A2, SUM_ABS, SUM_R, SUM_R2 };

// ---- advantages -------------------------------------------------------------------------------

static void begin_group(void* about, int32_t item, int32_t worker) {
    PufferTrainer* trainer = about;
    int64_t T = trainer->config.horizon, first = (int64_t)item * GROUP * T;
    int64_t last = first + GROUP * T, end = trainer->config.agents * T;
    if (last > end) last = end;
    trainer->work[worker].since = clock_now();
    memcpy(trainer->rollout.values_now + first, trainer->rollout.values + first,
           sizeof(float) * (size_t)(last - first));
    for (int64_t i = first; i < last; i++) trainer->rollout.ratio_now[i] = 1.0f;
    mark(&trainer->work[worker], PHASE_ADVANTAGE);
}

static int32_t groups(const PufferTrainer* trainer) {
    return (trainer->config.agents + GROUP - 1) / GROUP;
}

void picking_begin(PufferTrainer* trainer) {
    pool_run(trainer->pool, begin_group, trainer, groups(trainer));
}

void list_alive(PufferTrainer* trainer) {
    Picker* picker = &trainer->picker;
    const float* live = trainer->rollout.live;
    int32_t T = trainer->config.horizon;
    picker->alive_count = 0;
    picker->all_ticks = picker->lived = 0;
    for (int32_t segment = 0; segment < trainer->config.agents; segment++) {
        int32_t ticks = live ? 0 : T;
        for (int64_t t = 0; live && t < T; t++) ticks += live[(int64_t)segment * T + t] != 0.0f;
        picker->lived += ticks;
        if (!learns(trainer, segment)) ticks = 0;
        picker->ticks[segment] = ticks;
        picker->all_ticks += ticks;
        if (ticks) picker->alive[picker->alive_count++] = segment;
    }
}

static void group_returns(void* about, int32_t item, int32_t worker) {
    PufferTrainer* trainer = about;
    const PufferTrainerConfig* config = &trainer->config;
    const Rollout* rollout = &trainer->rollout;
    float* highest = &trainer->work[worker].highest_return;
    float limit = config->reward_clip > 0.0 ? (float)config->reward_clip : 3.4e38f;
    int64_t first = (int64_t)item * GROUP, last = first + GROUP, T = config->horizon;
    if (last > config->agents) last = config->agents;
    trainer->work[worker].since = clock_now();
    for (int64_t segment = first; segment < last; segment++) {
        if (!learns(trainer, segment)) continue;
        int64_t at = segment * T;
        float here = earned_return(rollout->rewards + at, rollout->ended + at,
                                   rollout->truncated + at, (int)T, (float)config->gamma, limit);
        *highest = fmaxf(*highest, here);
    }
    mark(&trainer->work[worker], PHASE_ADVANTAGE);
}

double most_earned(PufferTrainer* trainer) {
    float highest = 0.0f;
    for (int w = 0; w < trainer->config.threads; w++) trainer->work[w].highest_return = 0.0f;
    pool_run(trainer->pool, group_returns, trainer, groups(trainer));
    for (int w = 0; w < trainer->config.threads; w++)
        highest = fmaxf(highest, trainer->work[w].highest_return);
    return (double)highest;
}

// Of a row that others play: nothing, and sums of nothing
static void no_advantages(PufferTrainer* trainer, int64_t segment) {
    int64_t T = trainer->config.horizon;
    memset(trainer->rollout.advantages + segment * T, 0, sizeof(float) * (size_t)T);
    memset(trainer->rollout.returns + segment * T, 0, sizeof(float) * (size_t)T);
    memset(trainer->picker.sums[segment], 0, sizeof trainer->picker.sums[segment]);
}

static void segment_advantages(PufferTrainer* trainer, float* fade, int64_t segment) {
    const PufferTrainerConfig* config = &trainer->config;
    Rollout* rollout = &trainer->rollout;
    int64_t T = config->horizon, at = segment * T, moves = T;
    while (rollout->live && moves && rollout->live[at + moves - 1] == 0.0f) moves--;
    AdvantageArgs args = {.horizon = (int32_t)moves,
                          .rewards = rollout->rewards + at,
                          .values = rollout->values_now + at,
                          .ratio = rollout->ratio_now + at,
                          .ended = rollout->ended + at,
                          .truncated = rollout->truncated + at,
                          .final_values = rollout->final_values ? rollout->final_values + at : NULL,
                          .bootstrap = rollout->bootstrap[segment],
                          .gamma = (float)config->gamma,
                          .gae_lambda = (float)config->gae_lambda,
                          .rho_clip = (float)config->vtrace_rho_clip,
                          .c_clip = (float)config->vtrace_c_clip,
                          .reward_clip = (float)config->reward_clip,
                          .reward_scale = reward_scale(&trainer->counters),
                          .highest_value = highest_value(&trainer->counters)};
    float *advantages = rollout->advantages + at, *returns = rollout->returns + at;
    trainer->policy.kernels->advantage(&args, fade, advantages);
    memset(advantages + moves, 0, sizeof(float) * (size_t)(T - moves));
    trainer->policy.kernels->segment_sums((int)T, advantages, args.values, returns,
                                          trainer->picker.sums[segment]);
}

// What the caller gave
static void given_advantages(PufferTrainer* trainer, int64_t segment) {
    Rollout* rollout = &trainer->rollout;
    int64_t T = trainer->config.horizon, last = (segment + 1) * T;
    double* sums = trainer->picker.sums[segment];
    for (int j = 0; j < KERNEL_SUMS; j++) sums[j] = 0.0;
    for (int64_t t = segment * T; t < last; t++) {
        double A = (double)trainer->given_advantages[t], R = (double)trainer->given_returns[t];
        sums[SUM_A] += A;
        sums[SUM_A2] += A * A;
        sums[SUM_ABS] += fabs(A);
        sums[SUM_R] += R;
        sums[SUM_R2] += R * R;
        rollout->advantages[t] = trainer->given_advantages[t];
        rollout->returns[t] = trainer->given_returns[t];
    }
}

static void group_advantages(void* about, int32_t item, int32_t worker) {
    PufferTrainer* trainer = about;
    int64_t first = (int64_t)item * GROUP, last = first + GROUP;
    if (last > trainer->config.agents) last = trainer->config.agents;
    trainer->work[worker].since = clock_now();
    for (int64_t segment = first; segment < last; segment++)
        if (!learns(trainer, segment)) no_advantages(trainer, segment);
        else if (trainer->given_advantages) given_advantages(trainer, segment);
        else segment_advantages(trainer, trainer->work[worker].fade, segment);
    mark(&trainer->work[worker], PHASE_ADVANTAGE);
}

static void picked_advantages(void* about, int32_t item, int32_t worker) {
    PufferTrainer* trainer = about;
    int32_t first = item * GROUP, last = first + GROUP;
    if (last > trainer->segments) last = trainer->segments;
    trainer->work[worker].since = clock_now();
    for (int32_t i = first; i < last; i++)
        if (!trainer->picker.repeated[i])
            segment_advantages(trainer, trainer->work[worker].fade, trainer->picker.rows[i]);
    mark(&trainer->work[worker], PHASE_ADVANTAGE);
}

void sum_segments(const PufferTrainer* trainer, double sums[KERNEL_SUMS]) {
    for (int j = 0; j < KERNEL_SUMS; j++) sums[j] = 0.0;
    for (int64_t i = 0; i < trainer->config.agents; i++)
        for (int j = 0; j < KERNEL_SUMS; j++) sums[j] += trainer->picker.sums[i][j];
    if (!trainer->given_advantages) return;
    sums[SUM_A] = sums[SUM_A2] = 0.0;    // R - V, what the values leave unexplained: not A here
    int64_t T = trainer->config.horizon, rows = trainer->config.agents * T;
    for (int64_t i = 0; i < rows; i++) {
        if (!learns(trainer, i / T)) continue;
        double left = (double)trainer->given_returns[i] - (double)trainer->rollout.values[i];
        sums[SUM_A] += left;
        sums[SUM_A2] += left * left;
    }
}

double explained_variance(const PufferTrainer* trainer, const double sums[KERNEL_SUMS]) {
    double count = (double)trainer->picker.all_ticks;    // others add zeros
    double mean_a = sums[SUM_A] / count, mean_r = sums[SUM_R] / count;
    double spread = sums[SUM_R2] / count - mean_r * mean_r;
    double left = sums[SUM_A2] / count - mean_a * mean_a;
    return spread > 0.0 ? 1.0 - left / spread : 0.0;
}

double mean_return_square(const PufferTrainer* trainer, const double sums[KERNEL_SUMS]) {
    return sums[SUM_R2] / (double)trainer->picker.all_ticks;
}

// ---- which random numbers are this rank's -----------------------------------------------------

// Keys follow the segment's number in the whole run, and the place in the whole minibatch, as those
// of several GPUs do (trainer/cuda/picking.c). Of one rank alone both begin at 0
static uint32_t first_segment(const PufferTrainer* trainer) {
    return trainer->config.ranks > 1 ? (uint32_t)trainer->config.first_agent : 0;
}

static uint32_t first_place(const PufferTrainer* trainer) {
    return trainer->config.ranks > 1 ? (uint32_t)(trainer->config.rank * trainer->segments) : 0;
}

// Other ranks learn, and here nobody lived: segments without an agent add nothing to their sums
static void take_empty(const PufferTrainer* trainer, int32_t* rows, float* importance) {
    for (int32_t i = 0; i < trainer->segments; i++) {
        rows[i] = i % trainer->config.agents;
        importance[i] = 1.0f;
    }
}

// ---- every segment once: shuffled orders -------------------------------------------------------

// Sorts places by their keys, equal keys by number: merging runs of 1, 2, 4, ...
static void sort_deck(Picker* picker, int64_t n) {
    uint64_t *keys = picker->keys, *other_keys = picker->spare_keys;
    int32_t *segment_order = picker->segment_order, *other = picker->spare;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t low = 0; low < n; low += 2 * run) {
            int64_t middle = low + run < n ? low + run : n;
            int64_t high = middle + run < n ? middle + run : n;
            for (int64_t i = low, j = middle, out = low; out < high; out++) {
                int64_t from = i < middle && (j >= high || keys[i] <= keys[j]) ? i++ : j++;
                other_keys[out] = keys[from];
                other[out] = segment_order[from];
            }
        }
        uint64_t* swap_keys = keys;
        keys = other_keys;
        other_keys = swap_keys;
        int32_t* swap = segment_order;
        segment_order = other;
        other = swap;
    }
    if (segment_order != picker->segment_order)
        memcpy(picker->segment_order, segment_order, sizeof(int32_t) * (size_t)n);
}

static void shuffle(PufferTrainer* trainer, int64_t epoch_pass) {
    Picker* picker = &trainer->picker;
    int64_t n = picker->alive_count;
    if (picker->order_epoch == trainer->counters.epoch && picker->order_pass == epoch_pass
        && picker->deck_size == n)
        return;
    for (int64_t i = 0; i < n; i++) {
        PhiloxBlock block = philox_block(trainer->config.seed, PHILOX_SHUFFLE,
                                         first_segment(trainer) + (uint32_t)i,
                                         (uint64_t)trainer->counters.epoch, (uint32_t)epoch_pass);
        picker->keys[i] = (uint64_t)block.word[0] << 32 | block.word[1];
        picker->segment_order[i] = (int32_t)i;
    }
    sort_deck(picker, n);
    picker->order_epoch = trainer->counters.epoch;
    picker->order_pass = epoch_pass;
    picker->deck_size = n;
}

static void deal(PufferTrainer* trainer, int64_t number, int32_t* rows, float* importance) {
    const Picker* picker = &trainer->picker;
    int64_t n = picker->alive_count;
    for (int64_t i = 0; i < trainer->segments; i++) {
        int64_t place = number * trainer->segments + i;
        shuffle(trainer, place / n);
        rows[i] = picker->alive[picker->segment_order[place % n]];
        importance[i] = 1.0f;
    }
}

// ---- prioritised ------------------------------------------------------------------------------

// p_i ~ u_i^alpha + 1e-6, drawn with replacement; q_i = (n p_i)^-beta, n segments in which somebody
// lives. picker->cdf holds their u (n), and becomes the CDF
static void draw(PufferTrainer* trainer, int64_t number, int32_t* rows, float* importance) {
    const PufferTrainerConfig* config = &trainer->config;
    double* weight = trainer->picker.cdf;
    int64_t n = trainer->picker.alive_count;
    double progress = learning_progress(config, &trainer->counters);
    double beta = config->prio_beta0 + (1.0 - config->prio_beta0) * progress;
    double total = 0.0;
    for (int64_t i = 0; i < n; i++) {
        total += pow(weight[i], config->prio_alpha) + 1e-6;
        weight[i] = total;
    }
    for (int32_t i = 0; i < trainer->segments; i++) {
        PhiloxBlock block = philox_block(config->seed, PHILOX_PRIORITY,
                                         first_place(trainer) + (uint32_t)i,
                                         (uint64_t)trainer->counters.epoch, (uint32_t)number);
        double target = (double)philox_unit(block.word[0]) * total;
        int64_t low = 0, high = n - 1;    // the first place whose sum is above target
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (weight[middle] > target) high = middle;
            else low = middle + 1;
        }
        double p = (weight[low] - (low ? weight[low - 1] : 0.0)) / total;
        rows[i] = trainer->picker.alive[low];
        importance[i] = (float)pow((double)n * p, -beta);
    }
}

static void note_repeats(PufferTrainer* trainer) {
    Picker* picker = &trainer->picker;
    for (int32_t i = 0; i < trainer->segments; i++) {
        picker->repeated[i] = picker->seen[picker->rows[i]];
        picker->seen[picker->rows[i]] = 1;
    }
    for (int32_t i = 0; i < trainer->segments; i++) picker->seen[picker->rows[i]] = 0;
}

// The advantages that this minibatch needs, then its segments
int32_t pick_minibatch(PufferTrainer* trainer, int32_t number, Error* error) {
    Picker* picker = &trainer->picker;
    int32_t S = trainer->segments, dealt = trainer->config.prio_alpha == 0.0;
    int replayed = number < trainer->replay.count;
    int given = trainer->given_advantages != NULL;    // once, for all minibatches
    if (number == 0 || (!dealt && !replayed && !given))
        pool_run(trainer->pool, group_advantages, trainer, groups(trainer));
    trainer->work[0].since = clock_now();
    if (replayed) {
        memcpy(picker->rows, trainer->replay.rows + (int64_t)number * S,
               sizeof(int32_t) * (size_t)S);
        memcpy(picker->importance, trainer->replay.importance + (int64_t)number * S,
               sizeof(float) * (size_t)S);
    } else if (!picker->alive_count) {
        take_empty(trainer, picker->rows, picker->importance);
    } else if (dealt) {
        deal(trainer, number, picker->rows, picker->importance);
    } else {
        for (int32_t i = 0; i < picker->alive_count; i++)
            picker->cdf[i] = picker->sums[picker->alive[i]][SUM_ABS];
        draw(trainer, number, picker->rows, picker->importance);
    }
    for (int32_t i = 0; i < S; i++)
        if (picker->rows[i] < 0 || picker->rows[i] >= trainer->config.agents)
            return fail(error, "segment %d of %d does not exist", picker->rows[i],
                        trainer->config.agents);
    note_repeats(trainer);
    mark(&trainer->work[0], PHASE_PICK);
    if (number && (dealt || replayed) && !given)
        pool_run(trainer->pool, picked_advantages, trainer, (S + GROUP - 1) / GROUP);
    return 0;
}

int32_t puffer_trainer_advantages(PufferTrainer* trainer, float* out, Error* error) {
    if (!trainer->config.horizon) return fail(error, "this trainer can only act");
    picking_begin(trainer);
    pool_run(trainer->pool, group_advantages, trainer, groups(trainer));
    memcpy(out, trainer->rollout.advantages,
           sizeof(float) * (size_t)trainer->config.agents * (size_t)trainer->config.horizon);
    return 0;
}

int32_t puffer_trainer_pick(PufferTrainer* trainer, const float* advantages, int32_t minibatch,
                            int32_t* rows, float* importance, Error* error) {
    int64_t T = trainer->config.horizon;
    Picker* picker = &trainer->picker;
    if (!T) return fail(error, "this trainer can only act");
    if (minibatch < 0) return fail(error, "minibatch %d does not exist", minibatch);
    list_alive(trainer);
    if (!picker->alive_count) return fail(error, "nobody lived in the rollout");
    if (trainer->config.prio_alpha == 0.0) {
        deal(trainer, minibatch, rows, importance);
        return 0;
    }
    for (int32_t i = 0; i < picker->alive_count; i++) {
        picker->cdf[i] = 0.0;
        for (int64_t t = 0; t < T; t++)
            picker->cdf[i] += fabs((double)advantages[picker->alive[i] * T + t]);
    }
    draw(trainer, minibatch, rows, importance);
    return 0;
}
