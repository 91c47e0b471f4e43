/* update.c -- learn from a rollout: schedules and minibatches. */
#include "internal.h"
#include <math.h>
#include <string.h>

// From `start` at progress 0 to floor * start at progress 1, along half a cosine
static double cosine(double start, double floor, double progress) {
    return start * (floor + (1.0 - floor) * 0.5 * (1.0 + cos(3.14159265358979323846 * progress)));
}

static int all_finite(const float* x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] - x[i] == 0.0f)) return 0;
    return 1;
}

static int64_t count_clipped(const PufferTrainer* trainer) {
    int64_t found = 0, rows = (int64_t)trainer->config.agents * trainer->config.horizon;
    float limit = (float)trainer->config.reward_clip;
    for (int64_t i = 0; limit > 0.0f && i < rows; i++)
        found += fabsf(trainer->rollout.rewards[i]) > limit;
    return found;
}

static int32_t learn(PufferTrainer* trainer, int32_t number, PufferTrainerLosses* losses,
                     char* error) {
    double sums[KERNEL_LOSSES];
    if (pick_minibatch(trainer, number, error)) return -1;
    if (number == 0) losses->explained_variance = explained_variance(trainer);
    ppo_gradients(trainer, losses->ent_coef, sums);
    double norm = muon_reduce(trainer), sane = norm;
    for (int i = 0; i < KERNEL_LOSSES; i++) sane += fabs(sums[i]);
    if (!isfinite(sane)) return blame_update(trainer, error);
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

static void average(PufferTrainerLosses* losses) {
    double* sums[] = {&losses->policy, &losses->value, &losses->entropy, &losses->old_approx_kl,
                      &losses->approx_kl, &losses->clipfrac, &losses->grad_norm};
    for (size_t i = 0; i < sizeof sums / sizeof *sums && losses->minibatches; i++)
        *sums[i] /= losses->minibatches;
}

int32_t puffer_trainer_update(PufferTrainer* trainer, PufferTrainerLosses* losses, char* error) {
    const PufferTrainerConfig* config = &trainer->config;
    double began = seconds_now(), progress = learning_progress(trainer);
    if (!config->horizon) return fail(error, "this trainer can only act");
    if (trainer->stale) policy_pack(trainer);
    memset(losses, 0, sizeof *losses);
    losses->learning_rate = cosine(config->learning_rate,
                                   config->anneal_lr ? config->min_lr_ratio : 1.0, progress);
    losses->ent_coef = cosine(config->ent_coef,
                              config->anneal_ent_coef ? config->min_ent_coef_ratio : 1.0, progress);
    losses->reward_clipped = count_clipped(trainer);
    double batch = (double)config->agents * config->horizon;
    double wanted = config->replay_ratio * batch / config->minibatch_size
                    + trainer->counters.minibatch_carry;
    losses->minibatches = (int32_t)wanted;
    trainer->counters.minibatch_carry = wanted - losses->minibatches;
    picking_begin(trainer);
    int32_t failed = 0;
    for (int32_t number = 0; number < losses->minibatches && !failed; number++)
        failed = learn(trainer, number, losses, error);
    trainer->replay_count = 0;
    if (failed) return -1;
    if (!all_finite(trainer->all_weights, trainer->weight_count))
        return blame_update(trainer, error);
    average(losses);
    trainer->counters.epoch++;
    trainer->update_seconds += seconds_now() - began;
    return 0;
}
