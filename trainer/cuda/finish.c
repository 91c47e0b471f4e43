/* finish.c -- the end of an update: wait for the GPUs, then losses, or the first bad number.
 *
 * Whatever reads or writes weights calls this first. */
#include "internal.h"
#include <math.h>
#include <string.h>

static double explained_variance(const double* sums, double count) {
    double mean_a = sums[0] / count, mean_r = sums[3] / count;
    double spread = sums[4] / count - mean_r * mean_r, left = sums[1] / count - mean_a * mean_a;
    return spread > 0.0 ? 1.0 - left / spread : 0.0;
}

// epoch_begin keeps the least of the inverted bits: those of the highest number
static double noted(uint64_t inverted) {
    uint32_t bits = (uint32_t)~inverted;
    float number;
    memcpy(&number, &bits, sizeof number);
    return (double)number;
}

static void fill_losses(PufferTrainer* trainer, PufferTrainerLosses* losses) {
    const double* sums = trainer->ranks->report_here->results.loss_sums;    // of all ranks
    double count = losses->minibatches, seen[KERNEL_SUMS] = {0};
    EACH_RANK(trainer, rank) {
        losses->reward_clipped += (int64_t)rank->report_here->clipped;
        losses->highest_return = fmax(losses->highest_return, noted(rank->report_here->highest));
        for (int i = 0; i < KERNEL_SUMS; i++) seen[i] += rank->report_here->sums[i];
    }
    if (!losses->minibatches) return;
    double* means[] = {&losses->policy,        &losses->value,     &losses->entropy,
                       &losses->old_approx_kl, &losses->approx_kl, &losses->clipfrac,
                       &losses->grad_norm};
    for (int i = 0; i < KERNEL_LOSSES + 1; i++) *means[i] = sums[i] / count;
    losses->explained_variance = explained_variance(seen, (double)losses->alive);
    losses->return_square = seen[4] / (double)losses->alive;
}

// All ranks add the same numbers: where the results differ, so do the weights
static int32_t check_unity(PufferTrainer* trainer, Error* error) {
    const CudaResults* first = &trainer->ranks->report_here->results;
    EACH_RANK(trainer, rank)
        if (memcmp(&rank->report_here->results, first, sizeof *first))
            return fail(error,
                        "the GPUs disagree: the gradient's norm is %.17g on the first and "
                        "%.17g on number %d of them",
                        first->norm, rank->report_here->results.norm, rank->number + 1);
    return 0;
}

// The rollout that was learned from, the gradients of the last minibatch, and the weights
static int32_t name_bad_number(PufferTrainer* trainer, int turn, Error* error) {
    const float* gradients[MAX_LAYERS + 2];
    Error unsaid;
    int matrices = trainer->L + 2;
    if (everything_fetch(trainer, turn, error)) return -1;
    stream_download(trainer->ranks->stream, trainer->momentum_here, trainer->ranks->gradients,
                    sizeof(float) * (size_t)trainer->weight_count);
    if (ranks_wait(trainer, error)) return -1;
    for (int m = 0; m < matrices; m++)
        gradients[m] = trainer->momentum_here + trainer->matrices[m].offset;
    fault_update(&trainer->tensors, matrices, gradients, trainer->pending_epoch, error);
    trainer->fetched = 0;    // the buffer of momenta holds gradients
    weights_fetch(trainer, &unsaid);
    return -1;
}

int32_t update_finish(PufferTrainer* trainer, PufferTrainerLosses* losses, Error* error) {
    *losses = trainer->done;
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
    int turn = trainer->config.async ? 1 - trainer->turn : 0;
    trainer->counters.optimizer_steps += report->results.minibatches - trainer->pending.minibatches;
    if (report->results.stop || report->bad_weight != ~(uint64_t)0)
        return name_bad_number(trainer, turn, error);
    *losses = trainer->pending;
    fill_losses(trainer, losses);
    trainer->done = *losses;
    counters_follow(&trainer->config, &trainer->counters, losses, trainer->pending_epoch);
    trainer->update_seconds += seconds_now() - began;
    return 0;
}

int32_t puffer_trainer_finish(PufferTrainer* trainer, PufferTrainerLosses* losses, Error* error) {
    return update_finish(trainer, losses, error);
}

int32_t weights_upload(PufferTrainer* trainer, Error* error) {
    PufferTrainerLosses losses;
    if (trainer->lost)
        return fail(error, "weights were written to after training had moved on: fetch them first");
    if (!trainer->touched && !trainer->rollout_touched) return 0;
    if (update_finish(trainer, &losses, error)) return -1;
    return touched_upload(trainer, error);
}

// The rollout that was made last: an update that overlaps has given the next one the other buffer
int32_t puffer_trainer_fetch(PufferTrainer* trainer, int32_t kind, Error* error) {
    PufferTrainerLosses losses;
    if (kind == PUFFER_ROLLOUT) {
        if (trainer->rollout_touched) return 0;    // what is here is newer
        return rollout_fetch(trainer, trainer->passed_on ? 1 - trainer->turn : trainer->turn,
                             error);
    }
    if (trainer->touched) return 0;
    return update_finish(trainer, &losses, error) || weights_fetch(trainer, error) ? -1 : 0;
}
