/* update.c -- learn from a rollout: an epoch of minibatches is given to the GPU without a wait.
 *
 * What changes between minibatches is written down for all of them beforehand. The losses come
 * back in one piece at the end, which with `overlap` is asked for before the next update. */
#include "internal.h"
#include <math.h>
#include <string.h>

static void write_schedules(PufferTrainer* trainer, const PufferTrainerLosses* losses) {
    const PufferTrainerConfig* config = &trainer->config;
    double progress = learning_progress(config, &trainer->counters);
    for (int32_t number = 0; number < losses->minibatches; number++) {
        double steps = (double)(trainer->counters.optimizer_steps + number + 1);
        trainer->schedules_here[number] = (CudaSchedule){
            .seed = config->seed, .epoch = (uint64_t)trainer->counters.epoch, .number = number,
            .ent_coef = (float)losses->ent_coef, .learning_rate = losses->learning_rate,
            .prio_beta = config->prio_beta0 + (1.0 - config->prio_beta0) * progress,
            .first_bias = 1.0 - pow(0.9, steps), .second_bias = 1.0 - pow(config->beta2, steps)};
    }
}

static void begin_epoch(PufferTrainer* trainer, const Rollout* rollout) {
    Stream* stream = trainer->stream;
    int64_t rows = (int64_t)trainer->config.agents * trainer->config.horizon;
    stream_fill(stream, trainer->report, 0, sizeof *trainer->report);
    stream_fill(stream, &trainer->report->bad_weight, 0xff, sizeof trainer->report->bad_weight);
    EACH(stream, epoch_begin, rows, EpochBeginArgs, .count = (int32_t)rows,
         .reward_clip = (float)trainer->config.reward_clip, .values = rollout->values,
         .rewards = rollout->rewards, .values_now = rollout->values_now,
         .ratio_now = rollout->ratio_now, .clipped = &trainer->report->clipped);
}

// The weights that the next rollout acts with are those from before this update
static void keep_acting(PufferTrainer* trainer) {
    size_t count = (size_t)trainer->weight_count;
    stream_copy(trainer->stream, trainer->acting, trainer->weights, sizeof(float) * count);
    if (trainer->narrow)
        stream_copy(trainer->stream, trainer->acting_narrow, trainer->weights_narrow,
                    sizeof(uint16_t) * count);
    stream_mark(trainer->stream, trainer->weights_ready);
}

static void give_epoch(PufferTrainer* trainer, const PufferTrainerLosses* losses, int turn) {
    Stream* stream = trainer->stream;
    device_range(trainer->device, "update");
    if (trainer->config.overlap) keep_acting(trainer);
    begin_epoch(trainer, &trainer->rollouts[turn]);
    for (int32_t number = 0; number < losses->minibatches; number++) {
        stream_upload(stream, trainer->schedule, &trainer->schedules_here[number],
                      sizeof(CudaSchedule));
        pick_minibatch(trainer, turn, number);
        learn_minibatch(trainer, turn);
    }
    EACH(stream, bad_find, trainer->weight_count, BadFindArgs,
         .count = (int32_t)trainer->weight_count, .x = trainer->weights,
         .where = &trainer->report->bad_weight);
    stream_download(stream, trainer->report_here, trainer->report, sizeof *trainer->report);
    stream_mark(stream, trainer->updated);
    if (!trainer->config.overlap) stream_mark(stream, trainer->weights_ready);
    device_range(trainer->device, NULL);
}

// ---- what came of it --------------------------------------------------------------------------

static double explained_variance(const double* sums, double count) {
    double mean_a = sums[0] / count, mean_r = sums[3] / count;
    double spread = sums[4] / count - mean_r * mean_r, left = sums[1] / count - mean_a * mean_a;
    return spread > 0.0 ? 1.0 - left / spread : 0.0;
}

static void fill_losses(const PufferTrainer* trainer, PufferTrainerLosses* losses) {
    const Report* report = trainer->report_here;
    const double* sums = report->verdict.loss_sums;
    double count = losses->minibatches;
    losses->reward_clipped = (int64_t)report->clipped;
    if (!losses->minibatches) return;
    double* means[] = {&losses->policy, &losses->value, &losses->entropy, &losses->old_approx_kl,
                       &losses->approx_kl, &losses->clipfrac, &losses->grad_norm};
    for (int i = 0; i < KERNEL_LOSSES + 1; i++) *means[i] = sums[i] / count;
    losses->explained_variance = explained_variance(
        report->sums, (double)trainer->config.agents * trainer->config.horizon);
}

// The rollout that was learned from, the gradients of the last minibatch, and the weights
static int32_t blame(PufferTrainer* trainer, int turn, char* error) {
    const float* gradients[MAX_LAYERS + 2];
    char unsaid[PUFFER_ERROR_SIZE];
    int matrices = trainer->L + 2;
    if (everything_fetch(trainer, turn, error)) return -1;
    stream_download(trainer->stream, trainer->momentum_here, trainer->gradients,
                    sizeof(float) * (size_t)trainer->weight_count);
    if (stream_wait(trainer->stream)) return device_failed(trainer, error);
    for (int m = 0; m < matrices; m++)
        gradients[m] = trainer->momentum_here + trainer->matrices[m].offset;
    blame_update(&trainer->tensors, matrices, gradients, trainer->pending_epoch, error);
    trainer->fetched = 0;               // the gradients stand where momenta are to stand again
    weights_fetch(trainer, unsaid);
    return -1;
}

int32_t update_finish(PufferTrainer* trainer, PufferTrainerLosses* losses, char* error) {
    memset(losses, 0, sizeof *losses);
    if (!trainer->learning) return 0;
    double began = seconds_now();
    trainer->workers[0].since = clock_now();
    trainer->learning = 0;
    int32_t failed = event_wait(trainer->updated);
    mark(&trainer->workers[0], PHASE_UPDATE_AWAIT);
    if (failed) return device_failed(trainer, error);
    const Report* report = trainer->report_here;
    int turn = trainer->config.overlap ? 1 - trainer->turn : 0;
    trainer->counters.optimizer_steps += report->verdict.minibatches - trainer->pending.minibatches;
    if (report->verdict.stop || report->bad_weight != ~(uint64_t)0)
        return blame(trainer, turn, error);
    *losses = trainer->pending;
    fill_losses(trainer, losses);
    trainer->update_seconds += seconds_now() - began;
    return 0;
}

int32_t puffer_trainer_finish(PufferTrainer* trainer, PufferTrainerLosses* losses, char* error) {
    return update_finish(trainer, losses, error);
}

int32_t puffer_trainer_update(PufferTrainer* trainer, PufferTrainerLosses* losses, char* error) {
    PufferTrainerLosses before, now;
    int turn = trainer->turn;
    if (weights_upload(trainer, error) || update_finish(trainer, &before, error)) return -1;
    double began = seconds_now();
    trainer->workers[0].since = clock_now();
    losses_begin(&now, &trainer->config, &trainer->counters);
    write_schedules(trainer, &now);
    give_epoch(trainer, &now, turn);
    trainer->fetched = trainer->rollout_fetched = 0;
    trainer->learning = 1;
    trainer->pending = now;
    trainer->pending_epoch = trainer->counters.epoch;
    trainer->counters.optimizer_steps += now.minibatches;
    trainer->update_seconds += seconds_now() - began;
    mark(&trainer->workers[0], PHASE_UPDATE);
    int32_t failed = 0;
    if (trainer->config.overlap) {
        *losses = before;
        losses->learning_rate = now.learning_rate;
        losses->ent_coef = now.ent_coef;
        trainer->turn = 1 - turn;
    } else {
        failed = update_finish(trainer, losses, error);
    }
    trainer->replay.count = 0;
    if (failed) return -1;
    trainer->counters.epoch++;
    return 0;
}
