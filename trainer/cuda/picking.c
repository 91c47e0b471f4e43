/* picking.c -- advantages from the current V and w, and the segments of the next minibatch. */
#include "internal.h"

// `which`: these segments; NULL: all
static void compute_advantages(Rank* rank, Stream* stream, const Rollout* rollout,
                               const int32_t* which) {
    const PufferTrainer* trainer = rank->trainer;
    const PufferTrainerConfig* config = &trainer->config;
    int32_t count = which ? trainer->S : trainer->N;
    BLOCKS(stream, advantages_compute, (count + CUDA_SEGMENTS - 1) / CUDA_SEGMENTS,
           AdvantagesComputeArgs, .results = &rank->report->results, .schedule = rank->schedule,
           .count = count, .T = config->horizon, .which = which,
           .repeated = which ? rank->batch.repeated : NULL, .rewards = rollout->rewards,
           .values = rollout->values_now, .ratio = rollout->ratio_now, .ended = rollout->ended,
           .truncated = rollout->truncated, .final_values = rollout->final_values,
           .bootstrap = rollout->bootstrap, .live = rollout->live, .gamma = (float)config->gamma,
           .gae_lambda = (float)config->gae_lambda, .rho_clip = (float)config->vtrace_rho_clip,
           .c_clip = (float)config->vtrace_c_clip, .reward_clip = (float)config->reward_clip,
           .prio_alpha = config->prio_alpha, .advantages = rollout->advantages,
           .returns = rollout->returns, .sums = rank->picker.sums, .weights = rank->picker.weights);
}

// ---- variable number of agents ------------------------------------------------------------------

static void list_segments(Rank* rank, Living* out) {
    Picker* picker = &rank->picker;
    picker->living_count = 0;
    for (int32_t i = 0; i < rank->trainer->N; i++) {
        if (!picker->ticks_here[i]) continue;
        picker->living_here[picker->living_count++] = i;
        out->ticks += picker->ticks_here[i];
    }
    out->segments += picker->living_count;
}

// The host waits: how many minibatches there are depends on it
int32_t list_living(PufferTrainer* trainer, int turn, Living* out, Error* error) {
    int64_t agents = trainer->config.agents, T = trainer->config.horizon;
    size_t bytes = sizeof(int32_t) * (size_t)trainer->N;
    *out = (Living){agents, agents * T};
    if (!has_live(&trainer->config)) return 0;
    EACH_RANK(trainer, rank) {
        EACH(rank->stream, live_count, trainer->N, LiveCountArgs, .N = trainer->N,
             .T = trainer->config.horizon, .live = rank->rollouts[turn].live,
             .ticks = rank->picker.ticks);
        stream_download(rank->stream, rank->picker.ticks_here, rank->picker.ticks, bytes);
    }
    if (ranks_wait(trainer, error)) return -1;
    *out = (Living){0};
    EACH_RANK(trainer, rank) {
        list_segments(rank, out);
        stream_upload(rank->stream, rank->picker.living, rank->picker.living_here, bytes);
    }
    return 0;
}

// ---- the next minibatch -----------------------------------------------------------------------

static void shuffle(Rank* rank, Stream* stream) {
    const Picker* picker = &rank->picker;
    int32_t N = rank->trainer->N;
    BLOCKS(stream, segments_shuffle,
           picker->passes * (int64_t)((N + CUDA_BUCKET - 1) / CUDA_BUCKET), SegmentsShuffleArgs,
           .schedule = rank->schedule, .N = N, .passes = picker->passes,
           .first = (uint32_t)rank->first_row, .living = picker->living, .orders = picker->orders);
}

static void draw(Rank* rank, Stream* stream) {
    Picker* picker = &rank->picker;
    int32_t N = rank->trainer->N, S = rank->trainer->S;
    if (!picker->orders)
        BLOCKS(stream, priorities_sum, 1, PrioritiesSumArgs, .schedule = rank->schedule, .N = N,
               .living = picker->living, .weights = picker->weights, .cdf = picker->cdf);
    EACH(stream, segments_pick, S, SegmentsPickArgs, .schedule = rank->schedule, .N = N, .S = S,
         .passes = picker->passes, .first = (uint32_t)(rank->number * S), .living = picker->living,
         .orders = picker->orders, .weights = picker->weights, .cdf = picker->cdf,
         .rows = rank->batch.rows, .importance = rank->batch.importance);
}

static void find_repeats(Rank* rank, Stream* stream) {
    int32_t S = rank->trainer->S;
    EACH(stream, repeats_find, S, RepeatsFindArgs, .S = S, .rows = rank->batch.rows,
         .repeated = rank->batch.repeated);
}

// With several ranks, ranks_measure decides after they have exchanged totals
static void measure(Rank* rank, Stream* stream) {
    const PufferTrainerConfig* config = &rank->trainer->config;
    BLOCKS(stream, batch_measure, 1, BatchMeasureArgs, .S = rank->trainer->S, .T = config->horizon,
           .norm_adv = config->norm_adv, .rows = rank->batch.rows, .ticks = rank->picker.ticks,
           .sums = rank->picker.sums, .results = &rank->report->results,
           .totals = config->gpus > 1 ? exchange_own(rank, &rank->totals) : NULL);
}

// What is known of all segments before the first minibatch
static void compute_all(Rank* rank, Stream* stream, const Rollout* rollout) {
    compute_advantages(rank, stream, rollout, NULL);
    BLOCKS(stream, columns_sum, KERNEL_SUMS, ColumnsSumArgs, .parts_count = rank->trainer->N,
           .columns = KERNEL_SUMS, .parts = rank->picker.sums, .sums = rank->report->sums);
}

static void first_calls(Rank* rank, Stream* stream, void* about) {
    const Rollout* rollout = about;
    Picker* picker = &rank->picker;
    compute_all(rank, stream, rollout);
    if (picker->orders) shuffle(rank, stream);
    draw(rank, stream);
    find_repeats(rank, stream);
    measure(rank, stream);
}

static void later_calls(Rank* rank, Stream* stream, void* about) {
    const Rollout* rollout = about;
    if (!rank->picker.orders) compute_advantages(rank, stream, rollout, NULL);
    draw(rank, stream);
    find_repeats(rank, stream);
    if (rank->picker.orders) compute_advantages(rank, stream, rollout, rank->batch.rows);
    measure(rank, stream);
}

static void replay(Rank* rank, const Rollout* rollout, int32_t number) {
    const PufferTrainer* trainer = rank->trainer;
    Stream* stream = rank->stream;
    int64_t S = trainer->S, at = ((int64_t)number * trainer->config.gpus + rank->number) * S;
    stream_upload(stream, rank->batch.rows, trainer->replay.rows + at, sizeof(int32_t) * (size_t)S);
    stream_upload(stream, rank->batch.importance, trainer->replay.importance + at,
                  sizeof(float) * (size_t)S);
    if (number == 0) compute_all(rank, stream, rollout);
    find_repeats(rank, stream);
    if (number) compute_advantages(rank, stream, rollout, rank->batch.rows);
    measure(rank, stream);
}

void pick_minibatch(Rank* rank, int turn, int32_t number) {
    Rollout* rollout = &rank->rollouts[turn];
    if (number < rank->trainer->replay.count) replay(rank, rollout, number);
    else if (number == 0)
        run_recorded(rank, rank->stream, &rank->pick_first[turn], first_calls, rollout);
    else run_recorded(rank, rank->stream, &rank->pick_later[turn], later_calls, rollout);
}

void begin_epoch(Rank* rank, const Rollout* rollout) {
    const PufferTrainer* trainer = rank->trainer;
    Stream* stream = rank->stream;
    int64_t rows = (int64_t)trainer->N * trainer->config.horizon;
    stream_fill(stream, rank->report, 0, sizeof *rank->report);
    stream_fill(stream, &rank->report->bad_weight, 0xff, 2 * sizeof rank->report->bad_weight);
    EACH(stream, epoch_begin, rows, EpochBeginArgs, .count = (int32_t)rows,
         .T = trainer->config.horizon, .reward_clip = (float)trainer->config.reward_clip,
         .gamma = (float)trainer->config.gamma, .values = rollout->values,
         .rewards = rollout->rewards, .ended = rollout->ended, .truncated = rollout->truncated,
         .values_now = rollout->values_now, .ratio_now = rollout->ratio_now,
         .clipped = &rank->report->clipped, .highest = &rank->report->highest);
}

// ---- for parity tests -------------------------------------------------------------------------

int32_t puffer_trainer_advantages(PufferTrainer* trainer, float* out, Error* error) {
    PufferTrainerLosses losses;
    if (weights_upload(trainer, error) || update_finish(trainer, &losses, error)) return -1;
    int64_t rows = (int64_t)trainer->N * trainer->config.horizon;
    EACH_RANK(trainer, rank) {
        const Rollout* rollout = &rank->rollouts[trainer->turn];
        *rank->schedules_here = (CudaSchedule){.reward_scale = reward_scale(&trainer->counters),
                                               .highest_value = highest_value(&trainer->counters)};
        stream_upload(rank->stream, rank->schedule, rank->schedules_here, sizeof(CudaSchedule));
        begin_epoch(rank, rollout);
        compute_advantages(rank, rank->stream, rollout, NULL);
        stream_download(rank->stream, out + rank->number * rows, rollout->advantages,
                        sizeof(float) * (size_t)rows);
    }
    return ranks_wait(trainer, error);
}

// The weight of a segment to be drawn is made of its advantages here, as advantages_compute does
static void upload_weights(Rank* rank, const float* advantages) {
    int64_t T = rank->trainer->config.horizon, N = rank->trainer->N;
    double* weights = rank->picker.weights_here;
    for (int64_t i = 0; i < N; i++) {
        double sum = 0.0;
        for (int64_t t = 0; t < T; t++) sum += __builtin_fabs((double)advantages[i * T + t]);
        weights[i] = __builtin_pow(sum, rank->trainer->config.prio_alpha) + 1e-6;
    }
    stream_upload(rank->stream, rank->picker.weights, weights, sizeof(double) * (size_t)N);
}

static void pick_part(Rank* rank, const float* advantages, const CudaSchedule* schedule,
                      int32_t* rows, float* importance) {
    Stream* stream = rank->stream;
    size_t S = (size_t)rank->trainer->S;
    *rank->schedules_here = *schedule;
    rank->schedules_here->segments = rank->picker.living_count;
    stream_upload(stream, rank->schedule, rank->schedules_here, sizeof(CudaSchedule));
    if (rank->picker.orders) shuffle(rank, stream);
    else upload_weights(rank, advantages);
    draw(rank, stream);
    stream_download(stream, rows, rank->batch.rows, sizeof(int32_t) * S);
    stream_download(stream, importance, rank->batch.importance, sizeof(float) * S);
}

int32_t puffer_trainer_pick(PufferTrainer* trainer, const float* advantages, int32_t minibatch,
                            int32_t* rows, float* importance, Error* error) {
    PufferTrainerLosses losses;
    if (minibatch < 0 || minibatch >= trainer->minibatches)
        return fail(error, "minibatch %d does not exist", minibatch);
    Living living;
    if (weights_upload(trainer, error) || update_finish(trainer, &losses, error)
        || list_living(trainer, trainer->turn, &living, error))
        return -1;
    if (!living.ticks) return fail(error, "nobody lived in the rollout");
    int64_t segment = trainer->config.horizon, S = trainer->S;
    double progress = learning_progress(&trainer->config, &trainer->counters);
    double beta0 = trainer->config.prio_beta0;
    CudaSchedule schedule = {.seed = trainer->config.seed,
                             .epoch = (uint64_t)trainer->counters.epoch,
                             .number = minibatch,
                             .prio_beta = beta0 + (1.0 - beta0) * progress};
    EACH_RANK(trainer, rank)
        pick_part(rank, advantages + rank->first_row * segment, &schedule, rows + rank->number * S,
                  importance + rank->number * S);
    if (ranks_wait(trainer, error)) return -1;
    EACH_RANK(trainer, rank)
        for (int64_t i = 0; i < S; i++) rows[rank->number * S + i] += rank->first_row;
    return 0;
}
