/* update.c -- learn from a rollout: schedules and minibatches. */
#include "internal.h"
#include <math.h>
#include <string.h>

static int all_finite(const float* x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] - x[i] == 0.0f)) return 0;
    return 1;
}

static int64_t count_clipped(const PufferTrainer* trainer) {
    int64_t found = 0, T = trainer->config.horizon, rows = trainer->config.agents * T;
    float limit = (float)trainer->config.reward_clip;
    for (int64_t i = 0; limit > 0.0f && i < rows; i++)
        found += fabsf(trainer->rollout.rewards[i]) > limit && learns(trainer, i / T);
    return found;
}

static int32_t name_bad_number(const PufferTrainer* trainer, Error* error) {
    const float* gradients[MAX_MATRICES];
    int matrices = trainer->policy.num_matrices;
    for (int m = 0; m < matrices; m++) gradients[m] = trainer->matrices[m].gradient;
    return fault_update(&trainer->tensors, matrices, gradients, trainer->counters.epoch, error);
}

static double magnitude(const double sums[KERNEL_LOSSES]) {
    double total = 0.0;
    for (int i = 0; i < KERNEL_LOSSES; i++) total += fabs(sums[i]);
    return total;
}

// The first minibatch, and what all ranks know of it
static int32_t pick_first(PufferTrainer* trainer, PufferTrainerLosses* losses, Error* error) {
    double numbers[KERNEL_SUMS + TOTALS];
    if (pick_minibatch(trainer, 0, error)) return -1;
    sum_segments(trainer, numbers);
    ppo_measure(trainer, numbers + KERNEL_SUMS);
    if (exchange_doubles(trainer, numbers, KERNEL_SUMS + TOTALS, error)) return -1;
    losses->explained_variance = explained_variance(trainer, numbers);
    // returns of the caller's own are in their unit, which stays as it is
    losses->return_square = trainer->given_returns ? 1.0 : mean_return_square(trainer, numbers);
    memcpy(trainer->totals, numbers + KERNEL_SUMS, sizeof trainer->totals);
    return 0;
}

// One minibatch, and the choice of the next: its totals travel with the gradients
static int32_t learn(PufferTrainer* trainer, int32_t number, PufferTrainerLosses* losses,
                     Error* error) {
    double sums[KERNEL_LOSSES], norm;
    if (number == 0 && pick_first(trainer, losses, error)) return -1;
    ppo_gradients(trainer, losses->ent_coef, sums);
    // None of this asks for the new weights. Bad values would spoil the advantages, and hide why
    if (number + 1 < losses->minibatches && isfinite(magnitude(sums))) {
        if (pick_minibatch(trainer, number + 1, error)) return -1;
        ppo_measure(trainer, trainer->totals);
    }
    if (muon_reduce(trainer, sums, &norm, error)) return -1;
    if (!isfinite(norm + magnitude(sums))) return name_bad_number(trainer, error);
    muon_step(trainer, losses->learning_rate, norm);
    policy_pack(trainer);
    losses->policy += sums[0];
    losses->value += sums[1];
    losses->entropy += sums[2];
    losses->old_approx_kl += sums[3];
    losses->approx_kl += sums[4];
    losses->clipfrac += sums[5];
    losses->grad_norm += norm;
    return 0;
}

// What all ranks know before they begin: four sums, then the highest return that rewards brought, for
// which each rank has a place of its own. The number of minibatches follows from it
static int32_t begin(PufferTrainer* trainer, PufferTrainerLosses* losses, Error* error) {
    enum { SUMS = 4 };
    int32_t ranks = trainer->config.ranks;
    double* known = trainer->known;
    list_alive(trainer);
    memset(known, 0, sizeof *known * (size_t)(SUMS + ranks));
    known[0] = trainer->picker.alive_count;
    known[1] = (double)trainer->picker.all_ticks;
    known[2] = (double)count_clipped(trainer);
    known[3] = (double)trainer->picker.lived;
    known[SUMS + trainer->config.rank] = most_earned(trainer);
    if (exchange_doubles(trainer, known, SUMS + ranks, error)) return -1;
    trainer->picker.all_ticks = (int64_t)known[1];
    losses_begin(losses, &trainer->config, &trainer->counters, (int64_t)known[0],
                 (int64_t)known[3]);
    losses->reward_clipped = (int64_t)known[2];
    for (int32_t rank = 0; rank < ranks; rank++)
        losses->highest_return = fmax(losses->highest_return, known[SUMS + rank]);
    return 0;
}

static void average(PufferTrainerLosses* losses) {
    double* sums[] = {&losses->policy,        &losses->value,     &losses->entropy,
                      &losses->old_approx_kl, &losses->approx_kl, &losses->clipfrac,
                      &losses->grad_norm};
    for (size_t i = 0; i < sizeof sums / sizeof *sums && losses->minibatches; i++)
        *sums[i] /= losses->minibatches;
}

int32_t puffer_trainer_update(PufferTrainer* trainer, PufferTrainerLosses* losses, Error* error) {
    double began = seconds_now();
    if (!trainer->config.horizon) return fail(error, "this trainer can only act");
    if (trainer->stale) policy_pack(trainer);
    if (begin(trainer, losses, error)) return -1;
    picking_begin(trainer);
    int32_t failed = 0;
    for (int32_t number = 0; number < losses->minibatches && !failed; number++)
        failed = learn(trainer, number, losses, error);
    trainer->replay.count = 0;
    trainer->given_advantages = trainer->given_returns = NULL;
    if (failed) return -1;
    if (!all_finite(trainer->all_weights, trainer->weight_count))
        return name_bad_number(trainer, error);
    average(losses);
    counters_follow(&trainer->config, &trainer->counters, losses, trainer->counters.epoch);
    trainer->counters.epoch++;
    trainer->update_seconds += seconds_now() - began;
    return 0;
}

int32_t puffer_trainer_finish(PufferTrainer* trainer, PufferTrainerLosses* losses, Error* error) {
    (void)trainer, (void)error;    // nothing is under way
    memset(losses, 0, sizeof *losses);
    return 0;
}
