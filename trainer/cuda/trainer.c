/* trainer.c -- the C ABI of puffer_trainer.h: make a trainer, give it envs, look inside, end it. */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

// ---- making -----------------------------------------------------------------------------------

static int32_t check_config(const PufferTrainerConfig* config, Error* error) {
    if (config_check(config, error)) return -1;
    int32_t gpus = config->gpus, segments;
    if (config->ranks > 1)
        return fail(error, "the CUDA trainer shares a run among the GPUs of one process");
    if (config->num_parts)
        return fail(error, "the CUDA trainer's encoder reads rows of numbers: it takes no parts");
    if (!config->horizon) return fail(error, "the CUDA trainer needs a horizon of at least 1");
    if (config->num_buffers < 1 || config->num_buffers > MAX_SLICES
        || config->agents % config->num_buffers)
        return fail(error, "%d agents are not %d equal slices, from 1 to %d", config->agents,
                    config->num_buffers, MAX_SLICES);
    if (gpus < 1 || gpus > PUFFER_MAX_GPUS)
        return fail(error, "%d GPUs: there can be 1 to %d", gpus, PUFFER_MAX_GPUS);
    if (config->num_buffers % gpus)
        return fail(error, "%d slices cannot be dealt to %d GPUs", config->num_buffers, gpus);
    segments = segments_per_minibatch(config);
    if (segments % gpus)
        return fail(error, "a minibatch of %d segments cannot be dealt to %d GPUs", segments, gpus);
    return 0;
}

static int32_t start(PufferTrainer* trainer, Error* error) {
    if (ranks_open(trainer, error) || memory_take(trainer, error)) return -1;
    EACH_RANK(trainer, rank) {
        if (products_open(rank, error)) return -1;
        for (int i = 0; i < trainer->slices; i++) {
            rank->slices[i].stream = stream_open(rank->device);
            rank->slices[i].played = event_open(rank->device);
        }
        products_warm(rank);
    }
    for (int m = 0; m < trainer->L + 2; m++) {
        const Matrix* matrix = &trainer->matrices[m];
        matrix_start(trainer->weights_here + matrix->offset, &trainer->config, m, matrix->fan_out,
                     matrix->fan_in, m == 0 ? trainer->config.obs_scale : NULL);
    }
    trainer->fetched = trainer->touched = 1;
    trainer->pool = pool_create(trainer->config.threads);
    if (!trainer->pool)
        return fail_as(error, PUFFER_TRAINER_NO_THREADS, "the system cannot start %d threads",
                       trainer->config.threads);
    if (weights_upload(trainer, error)) return -1;
    EACH_RANK(trainer, rank) {
        if (device_failure(rank->device)) return device_failed(trainer, error);
        device_time(rank->device, trainer->config.timed);
    }
    return 0;
}

PufferTrainer* puffer_trainer_create(const PufferTrainerConfig* config, Error* error) {
    if (check_config(config, error)) return NULL;
    PufferTrainer* trainer = calloc(1, sizeof *trainer);
    if (!trainer) {
        fail_as(error, PUFFER_TRAINER_OUT_OF_MEMORY, "there is no memory for a trainer");
        return NULL;
    }
    trainer->config = *config;
    trainer->allocations = 1;
    heads_init(&trainer->heads, config);
    if (start(trainer, error)) {
        puffer_trainer_destroy(trainer);
        return NULL;
    }
    trainer->config.obs_scale = NULL;    // the caller's; the GPU has a copy
    return trainer;
}

void puffer_trainer_destroy(PufferTrainer* trainer) {
    if (!trainer) return;
    Error error;
    if (trainer->pool) pool_destroy(trainer->pool);
    envs_leave(trainer, &error);
    ranks_close(trainer);
    memory_free(trainer);
    replay_free(&trainer->replay);
    free(trainer);
}

int32_t puffer_trainer_attach(PufferTrainer* trainer, const PufferTrainerEnvs* envs, Error* error) {
    PufferTrainerLosses losses;
    if (envs->games) return fail(error, "the CUDA trainer plays all rows itself");
    if (trainer->config.has_masks && !envs->action_mask)
        return fail(error, "the envs have no action masks");
    if (trainer->config.has_final_obs && !envs->program
        && !(envs->final_observations && envs->has_final))    // a program brings its own
        return fail(error, "the envs have no final observations");
    if (trainer->config.has_alive && !envs->program && !envs->alive)
        return fail(error, "the envs do not say which agents live");
    if (update_finish(trainer, &losses, error)) return -1;
    trainer->envs.vec = NULL;    // until all has gone well
    if (envs_leave(trainer, error)) return -1;
    if (trainer->direct) device_unpin(trainer->ranks->device, trainer->envs.block);
    trainer->direct = 0;
    trainer->envs = *envs;
    trainer->acts_anew = 1;
    if (slices_attach(trainer, error) == 0 && (!envs->program || envs_start(trainer, error) == 0))
        return 0;
    trainer->envs.vec = NULL;
    return -1;
}

PufferTrainerCounters* puffer_trainer_counters(PufferTrainer* trainer) {
    return &trainer->counters;
}

void puffer_trainer_replay(PufferTrainer* trainer, const int32_t* rows, const float* importance,
                           int32_t minibatches) {
    int32_t S = trainer->S, gpus = trainer->config.gpus;
    replay_set(&trainer->replay, rows, importance, minibatches, S * gpus);
    for (int64_t i = 0; i < (int64_t)trainer->replay.count * S * gpus; i++)
        trainer->replay.rows[i] -= trainer->ranks[i / S % gpus].first_row;
}

int32_t puffer_trainer_give(PufferTrainer* trainer, const float* advantages, const float* returns,
                            Error* error) {
    (void)trainer, (void)advantages, (void)returns;
    return fail(error, "the trainer for GPUs computes its own advantages");
}

// ---- acting without training: only the CPU trainer can ----------------------------------------

int32_t puffer_trainer_act(PufferTrainer* trainer, const void* obs, const unsigned char* mask,
                           int32_t greedy, float* actions, float* log_probs, float* values,
                           Error* error) {
    (void)trainer, (void)obs, (void)mask, (void)greedy;
    (void)actions, (void)log_probs, (void)values;
    return fail(error, "the CUDA trainer cannot act without training: use the CPU trainer");
}

void puffer_trainer_ended(PufferTrainer* trainer, const float* terminals) {
    (void)trainer, (void)terminals;
}

void puffer_trainer_set_tick(PufferTrainer* trainer, int64_t tick) { trainer->tick_number = tick; }

// ---- statistics -------------------------------------------------------------------------------

void puffer_trainer_stats(PufferTrainer* trainer, PufferTrainerStats* out) {
    memset(out, 0, sizeof *out);
    for (int w = 0; w < trainer->config.threads; w++)
        for (int phase = 0; phase < PHASES; phase++) {
            out->seconds[phase] += 1e-9 * (double)trainer->workers[w].ticks[phase];
            trainer->workers[w].ticks[phase] = 0;
        }
    out->rollout = trainer->rollout_seconds;
    out->update = trainer->update_seconds;
    trainer->rollout_seconds = trainer->update_seconds = 0.0;
    out->allocations = trainer->allocations;
    out->bytes = trainer->bytes;
    out->threads = trainer->config.threads;
    out->block_agents = trainer->R;
    out->blocks = trainer->config.num_buffers;
}

const char* puffer_trainer_phase(int32_t index) {
    static const char* const names[PHASES] = {
        "rollout: environments", "rollout: hand over", "rollout: wait for actions",
        "rollout: launch",       "update: launch",     "update: wait"};
    return index >= 0 && index < PHASES ? names[index] : NULL;
}

int32_t puffer_trainer_device(PufferTrainer* trainer, PufferTrainerDevice* out) {
    DeviceFacts facts;
    device_facts(trainer->ranks->device, &facts);
    memset(out, 0, sizeof *out);
    memcpy(out->name, facts.name, sizeof out->name);
    out->major = facts.major;
    out->minor = facts.minor;
    out->driver = facts.driver;
    out->runtime = facts.runtime;
    out->emulated = facts.emulated;
    out->memory = facts.memory;
    out->used = (int64_t)(trainer->ranks->memory.bytes + trainer->ranks->env_memory.bytes);
    out->gpus = trainer->config.gpus;
    out->envs_on_gpu = trainer->playing;
    out->stack = trainer->stack;
    memcpy(out->unpinned, facts.unpinned, sizeof out->unpinned);
    return 1;
}

int32_t puffer_trainer_kernel(PufferTrainer* trainer, int32_t index, PufferTrainerKernel* out) {
    DeviceTally tally;
    if (!device_tally(trainer->ranks->device, index, &tally)) return 0;
    if (!strncmp(tally.name, ENVS_PREFIX, strlen(ENVS_PREFIX))) tally.name += strlen("puffer_");
    *out = (PufferTrainerKernel){tally.name, tally.calls, tally.seconds, tally.bytes, tally.flops};
    return 1;
}

#define COPY_BYTES ((size_t)256 << 20)

void puffer_trainer_peaks(PufferTrainer* trainer, double* copy_rate, double* product_rate) {
    *copy_rate = device_copy_rate(trainer->ranks->device, COPY_BYTES);
    *product_rate = device_product_rate(trainer->ranks->device, trainer->narrow);
}

// Paths are instruction sets of a CPU; a GPU has its own
const char* puffer_trainer_path_name(int32_t path) { return path == 0 ? "auto" : "unknown"; }
int32_t puffer_trainer_path_available(int32_t path) { return path == 0; }
double puffer_trainer_matmul_rate(int32_t path, int32_t precision, int32_t threads, int32_t terms,
                                  int32_t columns, double seconds) {
    (void)path, (void)precision, (void)threads, (void)terms, (void)columns, (void)seconds;
    return 0.0;
}
