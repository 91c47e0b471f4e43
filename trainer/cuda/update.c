/* update.c -- learn from a rollout: an epoch of minibatches is given to the GPU without a wait.
 *
 * What changes between minibatches is written down for all of them beforehand. The losses come
 * back in one piece at the end, which with `overlap` is asked for before the next update. */
#include "internal.h"
#include <math.h>
#include <string.h>

static void write_schedules(Rank* rank, const PufferTrainerLosses* losses) {
    const PufferTrainer* trainer = rank->trainer;
    const PufferTrainerConfig* config = &trainer->config;
    double progress = learning_progress(config, &trainer->counters);
    for (int32_t number = 0; number < losses->minibatches; number++) {
        double steps = (double)(trainer->counters.optimizer_steps + number + 1);
        rank->schedules_here[number] = (CudaSchedule){
            .seed = config->seed, .epoch = (uint64_t)trainer->counters.epoch, .number = number,
            .ent_coef = (float)losses->ent_coef, .learning_rate = losses->learning_rate,
            .prio_beta = config->prio_beta0 + (1.0 - config->prio_beta0) * progress,
            .first_bias = 1.0 - pow(0.9, steps), .second_bias = 1.0 - pow(config->beta2, steps)};
    }
}

static void begin_epoch(Rank* rank, const Rollout* rollout) {
    const PufferTrainer* trainer = rank->trainer;
    Stream* stream = rank->stream;
    int64_t rows = (int64_t)trainer->N * trainer->config.horizon;
    stream_fill(stream, rank->report, 0, sizeof *rank->report);
    stream_fill(stream, &rank->report->bad_weight, 0xff, sizeof rank->report->bad_weight);
    EACH(stream, epoch_begin, rows, EpochBeginArgs, .count = (int32_t)rows,
         .reward_clip = (float)trainer->config.reward_clip, .values = rollout->values,
         .rewards = rollout->rewards, .values_now = rollout->values_now,
         .ratio_now = rollout->ratio_now, .clipped = &rank->report->clipped);
}

static void end_epoch(Rank* rank) {
    Stream* stream = rank->stream;
    int64_t count = rank->trainer->weight_count;
    EACH(stream, bad_find, count, BadFindArgs, .count = (int32_t)count, .x = rank->weights,
         .where = &rank->report->bad_weight);
    stream_download(stream, rank->report_here, rank->report, sizeof *rank->report);
    stream_mark(stream, rank->updated);
    if (!rank->trainer->config.overlap) stream_mark(stream, rank->weights_ready);
}

static void give_epoch(PufferTrainer* trainer, const PufferTrainerLosses* losses, int turn) {
    device_range(trainer->ranks->device, "update");
    EACH_RANK(trainer, rank) {
        write_schedules(rank, losses);
        if (trainer->config.overlap) keep_acting(rank);     // with the weights before this update
        begin_epoch(rank, &rank->rollouts[turn]);
    }
    for (int32_t number = 0; number < losses->minibatches; number++) {
        EACH_RANK(trainer, rank) {
            stream_upload(rank->stream, rank->schedule, &rank->schedules_here[number],
                          sizeof(CudaSchedule));
            pick_minibatch(rank, turn, number);
        }
        learn_minibatch(trainer, turn);
    }
    EACH_RANK(trainer, rank) end_epoch(rank);
    device_range(trainer->ranks->device, NULL);
}

// ---- what came of it --------------------------------------------------------------------------

static double explained_variance(const double* sums, double count) {
    double mean_a = sums[0] / count, mean_r = sums[3] / count;
    double spread = sums[4] / count - mean_r * mean_r, left = sums[1] / count - mean_a * mean_a;
    return spread > 0.0 ? 1.0 - left / spread : 0.0;
}

static void fill_losses(PufferTrainer* trainer, PufferTrainerLosses* losses) {
    const double* sums = trainer->ranks->report_here->verdict.loss_sums;    // of all ranks
    double count = losses->minibatches, seen[KERNEL_SUMS] = {0};
    EACH_RANK(trainer, rank) {
        losses->reward_clipped += (int64_t)rank->report_here->clipped;
        for (int i = 0; i < KERNEL_SUMS; i++) seen[i] += rank->report_here->sums[i];
    }
    if (!losses->minibatches) return;
    double* means[] = {&losses->policy, &losses->value, &losses->entropy, &losses->old_approx_kl,
                       &losses->approx_kl, &losses->clipfrac, &losses->grad_norm};
    for (int i = 0; i < KERNEL_LOSSES + 1; i++) *means[i] = sums[i] / count;
    losses->explained_variance = explained_variance(
        seen, (double)trainer->config.agents * trainer->config.horizon);
}

// All ranks did the same sums on the same numbers: where the results differ, so do the weights
static int32_t check_unity(PufferTrainer* trainer, char* error) {
    const CudaVerdict* first = &trainer->ranks->report_here->verdict;
    EACH_RANK(trainer, rank)
        if (memcmp(&rank->report_here->verdict, first, sizeof *first))
            return fail(error, "the GPUs came apart: the gradient's norm is %.17g on the first and "
                        "%.17g on number %d of them", first->norm,
                        rank->report_here->verdict.norm, rank->number + 1);
    return 0;
}

// The rollout that was learned from, the gradients of the last minibatch, and the weights
static int32_t blame(PufferTrainer* trainer, int turn, char* error) {
    const float* gradients[MAX_LAYERS + 2];
    char unsaid[PUFFER_ERROR_SIZE];
    int matrices = trainer->L + 2;
    if (everything_fetch(trainer, turn, error)) return -1;
    stream_download(trainer->ranks->stream, trainer->momentum_here, trainer->ranks->gradients,
                    sizeof(float) * (size_t)trainer->weight_count);
    if (ranks_wait(trainer, error)) return -1;
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
    int32_t failed = 0;
    EACH_RANK(trainer, rank) failed |= event_wait(rank->updated);
    mark(&trainer->workers[0], PHASE_UPDATE_AWAIT);
    if (failed) return device_failed(trainer, error);
    if (check_unity(trainer, error)) return -1;
    const Report* report = trainer->ranks->report_here;
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
