/* trainer.c -- the C ABI of puffer_trainer.h: make a trainer, train, look inside, end it. */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

// ---- making -----------------------------------------------------------------------------------

static void list_tensors(PufferTrainer* trainer) {
    const Policy* policy = &trainer->policy;
    Tensors* tensors = &trainer->tensors;
    int matrices = policy->num_matrices, dims = policy->heads.continuous;
    int trains = trainer->config.horizon > 0;
    for (int m = 0; m < matrices; m++) {
        Matrix* matrix = &trainer->matrices[m];
        tensors_matrix(tensors, matrix->label, PUFFER_WEIGHT, matrix->weight, matrix->fan_out,
                       matrix->fan_in, m == 0 || m > policy->L + 1);
    }
    tensors_vector(tensors, "logstd", PUFFER_WEIGHT, policy->logstd, dims);
    for (int m = 0; m < matrices && trains; m++) {
        Matrix* matrix = &trainer->matrices[m];
        tensors_matrix(tensors, matrix->momentum_label, PUFFER_OPTIMIZER, matrix->momentum,
                       matrix->fan_out, matrix->fan_in, m == 0 || m > policy->L + 1);
    }
    tensors_vector(tensors, "adam.m.logstd", PUFFER_OPTIMIZER, trainer->adam_m, trains ? dims : 0);
    tensors_vector(tensors, "adam.v.logstd", PUFFER_OPTIMIZER, trainer->adam_v, trains ? dims : 0);
    tensors_rollout(tensors, &trainer->config, policy->A, policy->H_padded, trainer->state,
                    trains ? &trainer->rollout : NULL);
}

PufferTrainer* puffer_trainer_create(const PufferTrainerConfig* config, Error* error) {
    if (config_check(config, error)) return NULL;
    if (config->async || config->timed) {
        fail(error, "the CPU trainer has neither `async` nor `timed`");
        return NULL;
    }
    if (config->ranks > 1 && !config->exchange) {
        fail(error, "%d ranks, and no way to exchange numbers", config->ranks);
        return NULL;
    }
    PufferTrainer* trainer = calloc(1, sizeof *trainer);
    Workspace* work = calloc((size_t)config->threads, sizeof *work);
    if (!trainer || !work) {
        free(trainer);
        free(work);
        fail_as(error, PUFFER_TRAINER_OUT_OF_MEMORY, "there is no memory for a trainer");
        return NULL;
    }
    trainer->config = *config;
    trainer->work = work;
    trainer->allocations = 2;
    trainer->born = seconds_now();
    trainer->born_ticks = clock_now();
    if (policy_init(&trainer->policy, config, trainer->matrices, error)) {
        puffer_trainer_destroy(trainer);
        return NULL;
    }
    if (memory_take(trainer, error)) {
        puffer_trainer_destroy(trainer);
        return NULL;
    }
    if (config->obs_scale) seeing_factors(&trainer->policy, config->obs_scale);
    trainer->config.obs_scale = NULL;    // the caller's; the matrices have their factors
    trainer->pool = pool_create(config->threads);
    if (!trainer->pool) {
        fail_as(error, PUFFER_TRAINER_NO_THREADS, "the system cannot start %d threads",
                config->threads);
        puffer_trainer_destroy(trainer);
        return NULL;
    }
    list_tensors(trainer);
    policy_start(trainer);
    policy_pack(trainer);
    return trainer;
}

void puffer_trainer_destroy(PufferTrainer* trainer) {
    if (!trainer) return;
    pool_destroy(trainer->pool);
    memory_free(trainer);
    replay_free(&trainer->replay);
    free(trainer->work);
    free(trainer);
}

int32_t puffer_trainer_attach(PufferTrainer* trainer, const PufferTrainerEnvs* envs, Error* error) {
    if (!trainer->config.horizon) return fail(error, "this trainer can only act");
    if (trainer->config.has_masks && !envs->action_mask)
        return fail(error, "the envs have no action masks");
    if (trainer->config.has_final_obs && !(envs->final_observations && envs->has_final))
        return fail(error, "the envs have no final observations");
    if (trainer->config.has_alive && !envs->alive)
        return fail(error, "the envs do not say which agents live");
    trainer->envs = *envs;
    puffer_trainer_reset_state(trainer);
    if (games_check(trainer, error) == 0 && rollout_plan(trainer, error) == 0) return 0;
    trainer->envs.vec = NULL;
    return -1;
}

void puffer_trainer_touch(PufferTrainer* trainer) { trainer->stale = 1; }

PufferTrainerCounters* puffer_trainer_counters(PufferTrainer* trainer) {
    return &trainer->counters;
}

void puffer_trainer_replay(PufferTrainer* trainer, const int32_t* rows, const float* importance,
                           int32_t minibatches) {
    replay_set(&trainer->replay, rows, importance, minibatches, trainer->segments);
}

int32_t puffer_trainer_give(PufferTrainer* trainer, const float* advantages, const float* returns,
                            Error* error) {
    if (!trainer->config.horizon) return fail(error, "this trainer can only act");
    trainer->given_advantages = advantages;
    trainer->given_returns = returns;
    return 0;
}

// ---- looking inside ---------------------------------------------------------------------------

int32_t puffer_trainer_fetch(PufferTrainer* trainer, int32_t kind, Error* error) {
    (void)trainer, (void)kind, (void)error;
    return 0;
}

int32_t puffer_trainer_device(PufferTrainer* trainer, PufferTrainerDevice* out) {
    (void)trainer, (void)out;
    return 0;
}

int32_t puffer_trainer_kernel(PufferTrainer* trainer, int32_t index, PufferTrainerKernel* out) {
    (void)trainer, (void)index, (void)out;
    return 0;
}

void puffer_trainer_peaks(PufferTrainer* trainer, double* copy_rate, double* product_rate) {
    (void)trainer;
    *copy_rate = *product_rate = 0.0;
}

int32_t puffer_trainer_tensor(PufferTrainer* trainer, int32_t index, PufferTrainerTensor* out) {
    if (index < 0 || index >= trainer->tensors.count) return 0;
    *out = trainer->tensors.items[index];
    return 1;
}

void puffer_trainer_stats(PufferTrainer* trainer, PufferTrainerStats* out) {
    double elapsed = seconds_now() - trainer->born;
    double ticks = (double)(clock_now() - trainer->born_ticks);
    memset(out, 0, sizeof *out);
    for (int w = 0; w < trainer->config.threads; w++)
        for (int phase = 0; phase < PHASES; phase++) {
            out->seconds[phase] += (double)trainer->work[w].ticks[phase] * elapsed / ticks;
            trainer->work[w].ticks[phase] = 0;
        }
    out->rollout = trainer->rollout_seconds;
    out->update = trainer->update_seconds;
    trainer->rollout_seconds = trainer->update_seconds = 0.0;
    out->allocations = trainer->allocations;
    out->bytes = trainer->bytes;
    out->threads = trainer->config.threads;
    for (int path = PUFFER_PATH_GENERIC; path <= PUFFER_PATH_NEON; path++)
        if (kernels_find(path, trainer->config.precision) == trainer->policy.kernels)
            out->path = path;
    out->block_agents = trainer->block_rows;
    out->blocks = trainer->block_count;
    out->lockstep = trainer->lockstep;
}

_Static_assert(PHASES <= PUFFER_TRAINER_PHASES, "stats.seconds is too short");

const char* puffer_trainer_phase(int32_t index) {
    static const char* const names[PHASES] = {"rollout: copy observations",
                                              "rollout: encoder",
                                              "rollout: layers",
                                              "rollout: decoder",
                                              "rollout: sample actions",
                                              "rollout: environments",
                                              "rollout: store",
                                              "update: advantages",
                                              "update: pick segments",
                                              "update: gather",
                                              "update: encoder",
                                              "update: layers",
                                              "update: loss",
                                              "update: layers backward",
                                              "update: gradients of activations",
                                              "update: gradients of weights",
                                              "update: encoder backward",
                                              "update: add gradients",
                                              "update: Muon",
                                              "update: pack weights",
                                              "update: exchange"};
    return index >= 0 && index < PHASES ? names[index] : NULL;
}
