/* picking.c -- advantages from the current V and w, and the segments of the next minibatch. */
#include "internal.h"

// Of these segments, or of all where `which` is NULL
static void judge(PufferTrainer* trainer, Stream* stream, const Rollout* rollout,
                  const int32_t* which) {
    const PufferTrainerConfig* config = &trainer->config;
    int32_t count = which ? trainer->S : config->agents;
    BLOCKS(stream, segments_judge, (count + CUDA_SEGMENTS - 1) / CUDA_SEGMENTS, SegmentsJudgeArgs,
        .verdict = &trainer->report->verdict, .count = count, .T = config->horizon, .which = which,
        .repeated = which ? trainer->batch.repeated : NULL, .rewards = rollout->rewards,
        .values = rollout->values_now, .ratio = rollout->ratio_now, .ended = rollout->ended,
        .truncated = rollout->truncated, .bootstrap = rollout->bootstrap,
        .gamma = (float)config->gamma, .gae_lambda = (float)config->gae_lambda,
        .rho_clip = (float)config->vtrace_rho_clip, .c_clip = (float)config->vtrace_c_clip,
        .reward_clip = (float)config->reward_clip, .prio_alpha = config->prio_alpha,
        .advantages = rollout->advantages, .returns = rollout->returns,
        .sums = trainer->picker.sums, .weights = trainer->picker.weights);
}

static void shuffle(PufferTrainer* trainer, Stream* stream) {
    const Picker* picker = &trainer->picker;
    int32_t N = trainer->config.agents;
    BLOCKS(stream, deck_shuffle, picker->laps * (int64_t)((N + CUDA_LANES - 1) / CUDA_LANES),
           DeckShuffleArgs, .schedule = trainer->schedule, .N = N, .laps = picker->laps,
           .decks = picker->decks);
}

static void draw(PufferTrainer* trainer, Stream* stream) {
    Picker* picker = &trainer->picker;
    int32_t N = trainer->config.agents, S = trainer->S;
    if (!picker->decks)
        BLOCKS(stream, priorities_sum, 1, PrioritiesSumArgs, .N = N, .weights = picker->weights,
               .cdf = picker->cdf);
    EACH(stream, segments_pick, S, SegmentsPickArgs, .schedule = trainer->schedule, .N = N, .S = S,
         .laps = picker->laps, .decks = picker->decks, .weights = picker->weights,
         .cdf = picker->cdf, .rows = trainer->batch.rows, .q = trainer->batch.q);
}

static void find_repeats(PufferTrainer* trainer, Stream* stream) {
    EACH(stream, repeats_find, trainer->S, RepeatsFindArgs, .S = trainer->S,
         .rows = trainer->batch.rows, .repeated = trainer->batch.repeated);
}

static void measure(PufferTrainer* trainer, Stream* stream) {
    BLOCKS(stream, batch_measure, 1, BatchMeasureArgs, .S = trainer->S,
           .T = trainer->config.horizon, .norm_adv = trainer->config.norm_adv,
           .rows = trainer->batch.rows, .sums = trainer->picker.sums,
           .verdict = &trainer->report->verdict);
}

// What is known of all segments before the first minibatch
static void judge_all(PufferTrainer* trainer, Stream* stream, const Rollout* rollout) {
    judge(trainer, stream, rollout, NULL);
    BLOCKS(stream, columns_sum, KERNEL_SUMS, ColumnsSumArgs, .parts_count = trainer->config.agents,
           .columns = KERNEL_SUMS, .parts = trainer->picker.sums, .sums = trainer->report->sums);
}

static void first_calls(PufferTrainer* trainer, Stream* stream, void* about) {
    const Rollout* rollout = about;
    Picker* picker = &trainer->picker;
    judge_all(trainer, stream, rollout);
    if (picker->decks) shuffle(trainer, stream);
    draw(trainer, stream);
    find_repeats(trainer, stream);
    measure(trainer, stream);
}

static void later_calls(PufferTrainer* trainer, Stream* stream, void* about) {
    const Rollout* rollout = about;
    if (!trainer->picker.decks) judge(trainer, stream, rollout, NULL);
    draw(trainer, stream);
    find_repeats(trainer, stream);
    if (trainer->picker.decks) judge(trainer, stream, rollout, trainer->batch.rows);
    measure(trainer, stream);
}

static void replay(PufferTrainer* trainer, const Rollout* rollout, int32_t number) {
    Stream* stream = trainer->stream;
    int64_t S = trainer->S;
    stream_upload(stream, trainer->batch.rows, trainer->replay.rows + number * S,
                  sizeof(int32_t) * (size_t)S);
    stream_upload(stream, trainer->batch.q, trainer->replay.q + number * S,
                  sizeof(float) * (size_t)S);
    if (number == 0) judge_all(trainer, stream, rollout);
    find_repeats(trainer, stream);
    if (number) judge(trainer, stream, rollout, trainer->batch.rows);
    measure(trainer, stream);
}

void pick_minibatch(PufferTrainer* trainer, int turn, int32_t number) {
    Rollout* rollout = &trainer->rollouts[turn];
    if (number < trainer->replay.count) replay(trainer, rollout, number);
    else if (number == 0)
        run_recorded(trainer, trainer->stream, &trainer->pick_first[turn], first_calls, rollout);
    else
        run_recorded(trainer, trainer->stream, &trainer->pick_later[turn], later_calls, rollout);
}

// ---- for parity tests -------------------------------------------------------------------------

int32_t puffer_trainer_advantages(PufferTrainer* trainer, float* out, char* error) {
    PufferTrainerLosses losses;
    if (update_finish(trainer, &losses, error)) return -1;
    const Rollout* rollout = &trainer->rollouts[trainer->turn];
    int64_t rows = (int64_t)trainer->config.agents * trainer->config.horizon;
    stream_fill(trainer->stream, trainer->report, 0, sizeof *trainer->report);
    EACH(trainer->stream, epoch_begin, rows, EpochBeginArgs, .count = (int32_t)rows,
         .values = rollout->values, .rewards = rollout->rewards,
         .values_now = rollout->values_now, .ratio_now = rollout->ratio_now,
         .clipped = &trainer->report->clipped);
    judge(trainer, trainer->stream, rollout, NULL);
    stream_download(trainer->stream, out, rollout->advantages, sizeof(float) * (size_t)rows);
    return stream_wait(trainer->stream) ? device_failed(trainer, error) : 0;
}

// The weight of a segment to be drawn is made of its advantages here, as segments_judge does
static void upload_weights(PufferTrainer* trainer, const float* advantages, double* weights) {
    int64_t T = trainer->config.horizon, N = trainer->config.agents;
    for (int64_t i = 0; i < N; i++) {
        double sum = 0.0;
        for (int64_t t = 0; t < T; t++) sum += __builtin_fabs((double)advantages[i * T + t]);
        weights[i] = __builtin_pow(sum, trainer->config.prio_alpha) + 1e-6;
    }
    stream_upload(trainer->stream, trainer->picker.weights, weights, sizeof(double) * (size_t)N);
}

int32_t puffer_trainer_pick(PufferTrainer* trainer, const float* advantages, int32_t minibatch,
                            int32_t* rows, float* q, char* error) {
    PufferTrainerLosses losses;
    if (minibatch < 0 || minibatch >= trainer->minibatches)
        return fail(error, "there is no minibatch %d", minibatch);
    if (update_finish(trainer, &losses, error)) return -1;
    Stream* stream = trainer->stream;
    double progress = learning_progress(&trainer->config, &trainer->counters);
    double beta0 = trainer->config.prio_beta0;
    *trainer->schedules_here = (CudaSchedule){
        .seed = trainer->config.seed, .epoch = (uint64_t)trainer->counters.epoch,
        .number = minibatch, .prio_beta = beta0 + (1.0 - beta0) * progress};
    stream_upload(stream, trainer->schedule, trainer->schedules_here, sizeof(CudaSchedule));
    Picker* picker = &trainer->picker;
    if (picker->decks) shuffle(trainer, stream);
    else upload_weights(trainer, advantages, picker->weights_here);
    draw(trainer, stream);
    stream_download(stream, rows, trainer->batch.rows, sizeof(int32_t) * (size_t)trainer->S);
    stream_download(stream, q, trainer->batch.q, sizeof(float) * (size_t)trainer->S);
    return stream_wait(stream) ? device_failed(trainer, error) : 0;
}
