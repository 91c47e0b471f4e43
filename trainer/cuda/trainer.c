/* trainer.c -- the C ABI of puffer_trainer.h: make a trainer, look inside, end it. */
#include "internal.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void mark(Worker* worker, int phase) {
    uint64_t now = clock_now();
    worker->ticks[phase] += now - worker->since;
    worker->since = now;
}

int32_t device_failed(const PufferTrainer* trainer, char* error) {
    const char* text = NULL;
    for (int32_t i = 0; i < trainer->config.gpus && !text; i++)
        text = device_failure(trainer->ranks[i].device);
    return fail(error, "%s", text ? text : "the GPU failed and did not say why");
}

void run_recorded(Rank* rank, Stream* stream, Recorded* recorded, Calls calls, void* about) {
    if (rank->trainer->config.timed || recorded->runs++ == 0) {
        calls(rank, stream, about);
        return;
    }
    if (!recorded->graph) {
        graph_begin(stream);
        calls(rank, stream, about);
        recorded->graph = graph_end(stream);
    }
    if (recorded->graph) stream_replay(stream, recorded->graph);
}

// ---- making -----------------------------------------------------------------------------------

static int32_t check_config(const PufferTrainerConfig* config, char* error) {
    if (config_check(config, error)) return -1;
    int32_t gpus = config->gpus, segments;
    if (!config->horizon) return fail(error, "the CUDA trainer does not act alone");
    if (config->slices < 1 || config->slices > MAX_SLICES || config->agents % config->slices)
        return fail(error, "%d agents are not %d equal slices, from 1 to %d", config->agents,
                    config->slices, MAX_SLICES);
    if (gpus < 1 || gpus > PUFFER_MAX_GPUS)
        return fail(error, "%d GPUs: there can be 1 to %d", gpus, PUFFER_MAX_GPUS);
    if (config->slices % gpus)
        return fail(error, "%d slices cannot be dealt to %d GPUs", config->slices, gpus);
    segments = config->minibatch_size / config->horizon;
    if (segments % gpus)
        return fail(error, "a minibatch of %d segments cannot be dealt to %d GPUs", segments, gpus);
    return 0;
}

static int32_t start(PufferTrainer* trainer, char* error) {
    if (ranks_open(trainer, error) || memory_take(trainer, error)) return -1;
    EACH_RANK(trainer, rank) {
        if (products_open(rank, error)) return -1;
        for (int i = 0; i < trainer->slices; i++) {
            rank->slices[i].stream = stream_open(rank->device);
            rank->slices[i].played = event_open(rank->device);
        }
    }
    for (int m = 0; m < trainer->L + 2; m++) {
        const Matrix* matrix = &trainer->matrices[m];
        matrix_start(trainer->weights_here + matrix->offset, trainer->config.seed, m,
                     matrix->fan_out, matrix->fan_in);
    }
    trainer->fetched = trainer->touched = 1;
    trainer->pool = pool_create(trainer->config.threads);
    if (!trainer->pool)
        return fail(error, "the system gives no %d threads", trainer->config.threads);
    if (weights_upload(trainer, error)) return -1;
    EACH_RANK(trainer, rank) {
        if (device_failure(rank->device)) return device_failed(trainer, error);
        device_time(rank->device, trainer->config.timed);
    }
    return 0;
}

PufferTrainer* puffer_trainer_create(const PufferTrainerConfig* config, char* error) {
    if (check_config(config, error)) return NULL;
    PufferTrainer* trainer = calloc(1, sizeof *trainer);
    if (!trainer) {
        fail(error, "there is no memory for a trainer");
        return NULL;
    }
    trainer->config = *config;
    trainer->allocations = 1;
    heads_init(&trainer->heads, config);
    if (start(trainer, error) == 0) return trainer;
    puffer_trainer_destroy(trainer);
    return NULL;
}

void puffer_trainer_destroy(PufferTrainer* trainer) {
    if (!trainer) return;
    char error[PUFFER_ERROR_SIZE];
    if (trainer->pool) pool_destroy(trainer->pool);
    envs_leave(trainer, error);
    ranks_close(trainer);
    memory_free(trainer);
    replay_free(&trainer->replay);
    free(trainer);
}

int32_t puffer_trainer_attach(PufferTrainer* trainer, const PufferTrainerEnvs* envs, char* error) {
    PufferTrainerLosses losses;
    if (trainer->config.has_masks && !envs->action_mask)
        return fail(error, "the envs have no action masks");
    if (update_finish(trainer, &losses, error)) return -1;
    trainer->envs.vec = NULL;       // until all has gone well
    if (envs_leave(trainer, error)) return -1;
    if (trainer->direct) device_unpin(trainer->ranks->device, trainer->envs.block);
    trainer->direct = 0;
    trainer->envs = *envs;
    trainer->acts_anew = 1;
    if (slices_attach(trainer, error) == 0
        && (!envs->program || envs_start(trainer, error) == 0))
        return 0;
    trainer->envs.vec = NULL;
    return -1;
}

PufferTrainerCounters* puffer_trainer_counters(PufferTrainer* trainer) {
    return &trainer->counters;
}

void puffer_trainer_replay(PufferTrainer* trainer, const int32_t* rows, const float* q,
                           int32_t minibatches) {
    int32_t S = trainer->S, gpus = trainer->config.gpus;
    replay_set(&trainer->replay, rows, q, minibatches, S * gpus);
    for (int64_t i = 0; i < (int64_t)trainer->replay.count * S * gpus; i++)
        trainer->replay.rows[i] -= trainer->ranks[i / S % gpus].first_row;
}

// ---- weights and rollouts, here and there -----------------------------------------------------

static void narrow_weights(Rank* rank) {       // all of them, after a load
    int64_t count = rank->trainer->weight_count;
    if (rank->trainer->narrow)
        EACH(rank->stream, floats_narrow, count, FloatsNarrowArgs, .count = (int32_t)count,
             .x = rank->weights, .narrow = rank->weights_narrow);
}

void keep_acting(Rank* rank) {
    size_t count = (size_t)rank->trainer->weight_count;
    stream_copy(rank->stream, rank->acting, rank->weights, sizeof(float) * count);
    if (rank->trainer->narrow)
        stream_copy(rank->stream, rank->acting_narrow, rank->weights_narrow,
                    sizeof(uint16_t) * count);
    stream_mark(rank->stream, rank->weights_ready);
}

// A tensor of a rollout on a rank, and the place of its rows in what callers see
typedef struct { void *here, *there; int64_t bytes; } Pair;

#define ROLLOUT_PAIRS 15

static void pair_rollout(const Rank* rank, int turn, Pair out[ROLLOUT_PAIRS]) {
    const PufferTrainer* trainer = rank->trainer;
    const Rollout *there = &rank->rollouts[turn], *here = &trainer->rollout_here;
    int64_t N = trainer->N, rows = N * trainer->config.horizon;
    int64_t states = 4 * N * trainer->L * trainer->H;
    int64_t obs = (int64_t)obs_bytes(trainer, rows);
    const Pair all[ROLLOUT_PAIRS] = {
        {here->obs, there->obs, obs}, {here->actions, there->actions, 4 * rows * trainer->K},
        {here->masks, there->masks, there->masks ? rows * trainer->A : 0},
        {here->logprobs, there->logprobs, 4 * rows}, {here->values, there->values, 4 * rows},
        {here->rewards, there->rewards, 4 * rows}, {here->ended, there->ended, 4 * rows},
        {here->truncated, there->truncated, 4 * rows},
        {here->values_now, there->values_now, 4 * rows},
        {here->ratio_now, there->ratio_now, 4 * rows},
        {here->advantages, there->advantages, 4 * rows},
        {here->returns, there->returns, 4 * rows}, {here->bootstrap, there->bootstrap, 4 * N},
        {here->state0, there->state0, states}, {trainer->state_here, rank->state, states}};
    for (int i = 0; i < ROLLOUT_PAIRS; i++)
        out[i] = (Pair){(char*)all[i].here + (all[i].bytes ? rank->number * all[i].bytes : 0),
                        all[i].there, all[i].bytes};
}

static void rollout_upload(PufferTrainer* trainer) {
    Pair pairs[ROLLOUT_PAIRS];
    EACH_RANK(trainer, rank) {
        pair_rollout(rank, trainer->turn, pairs);
        for (int i = 0; i < ROLLOUT_PAIRS; i++)
            if (pairs[i].bytes)
                stream_upload(rank->stream, pairs[i].there, pairs[i].here, (size_t)pairs[i].bytes);
    }
}

static void upload_to(Rank* rank) {
    const PufferTrainer* trainer = rank->trainer;
    Stream* stream = rank->stream;
    size_t bytes = sizeof(float) * (size_t)trainer->weight_count;
    stream_upload(stream, rank->weights, trainer->weights_here, bytes);
    stream_upload(stream, rank->momentum, trainer->momentum_here, bytes);
    if (trainer->heads.continuous)
        stream_upload(stream, rank->adam_v, trainer->adam_v_here,
                      sizeof(float) * (size_t)trainer->heads.continuous);
    narrow_weights(rank);
    stream_mark(stream, rank->weights_ready);
}

int32_t weights_upload(PufferTrainer* trainer, char* error) {
    PufferTrainerLosses losses;
    if (trainer->lost)
        return fail(error, "weights were written to after training had moved on: fetch them first");
    if (!trainer->touched && !trainer->rollout_touched) return 0;
    if (update_finish(trainer, &losses, error)) return -1;
    if (trainer->rollout_touched) rollout_upload(trainer);
    trainer->rollout_touched = 0;
    if (!trainer->touched) return ranks_wait(trainer, error);
    EACH_RANK(trainer, rank) upload_to(rank);
    trainer->touched = 0;
    trainer->acts_anew = 1;
    return ranks_wait(trainer, error);
}

// All ranks have the same
int32_t weights_fetch(PufferTrainer* trainer, char* error) {
    const Rank* rank = trainer->ranks;
    size_t bytes = sizeof(float) * (size_t)trainer->weight_count;
    if (trainer->fetched) return 0;
    stream_download(rank->stream, trainer->weights_here, rank->weights, bytes);
    stream_download(rank->stream, trainer->momentum_here, rank->momentum, bytes);
    if (trainer->heads.continuous)
        stream_download(rank->stream, trainer->adam_v_here, rank->adam_v,
                        sizeof(float) * (size_t)trainer->heads.continuous);
    if (stream_wait(rank->stream)) return device_failed(trainer, error);
    trainer->fetched = 1;
    trainer->lost = 0;
    return 0;
}

static int32_t rollout_fetch(PufferTrainer* trainer, int turn, char* error) {
    Pair pairs[ROLLOUT_PAIRS];
    if (mirror_rollout(trainer, error)) return -1;
    EACH_RANK(trainer, rank) {
        pair_rollout(rank, turn, pairs);
        for (int i = 0; i < ROLLOUT_PAIRS; i++)
            if (pairs[i].bytes)
                stream_download(rank->stream, pairs[i].here, pairs[i].there,
                                (size_t)pairs[i].bytes);
    }
    if (ranks_wait(trainer, error)) return -1;
    trainer->rollout_fetched = 1;
    return 0;
}

// Every stream is idle when this is called
int32_t everything_fetch(PufferTrainer* trainer, int turn, char* error) {
    return weights_fetch(trainer, error) || rollout_fetch(trainer, turn, error) ? -1 : 0;
}

// The rollout that was made last: an update that overlaps has given the next one the other buffer
int32_t puffer_trainer_fetch(PufferTrainer* trainer, int32_t kind, char* error) {
    int turn = trainer->learning ? 1 - trainer->turn : trainer->turn;
    if (kind == PUFFER_ROLLOUT ? trainer->rollout_touched : trainer->touched)
        return 0;                               // what is here is newer
    return kind == PUFFER_ROLLOUT ? rollout_fetch(trainer, turn, error)
                                  : weights_fetch(trainer, error);
}

void puffer_trainer_touch(PufferTrainer* trainer) {
    trainer->rollout_touched = trainer->rollout_fetched;
    if (trainer->fetched) trainer->touched = 1;
    else if (!trainer->rollout_fetched) trainer->lost = 1;
}

int32_t puffer_trainer_tensor(PufferTrainer* trainer, int32_t index, PufferTrainerTensor* out) {
    if (index < 0 || index >= trainer->tensors.count) return 0;
    *out = trainer->tensors.items[index];
    return 1;
}

// ---- acting alone is the CPU trainer's --------------------------------------------------------

int32_t puffer_trainer_act(PufferTrainer* trainer, const void* obs, const unsigned char* mask,
                           int32_t greedy, float* actions, float* log_probs, float* values,
                           char* error) {
    (void)trainer, (void)obs, (void)mask, (void)greedy, (void)actions, (void)log_probs, (void)values;
    return fail(error, "the CUDA trainer does not act alone: the CPU trainer does");
}

void puffer_trainer_ended(PufferTrainer* trainer, const float* terminals) {
    (void)trainer, (void)terminals;
}

void puffer_trainer_set_tick(PufferTrainer* trainer, int64_t tick) { trainer->tick_number = tick; }

// ---- looking on -------------------------------------------------------------------------------

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
    out->blocks = trainer->config.slices;
}

const char* puffer_trainer_phase(int32_t index) {
    static const char* const names[PHASES] = {
        "rollout: environments", "rollout: hand over", "rollout: wait for actions",
        "rollout: launch", "update: launch", "update: wait"};
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
    out->plays = trainer->playing;
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
double puffer_trainer_matmul_rate(int32_t path, int32_t precision, int32_t threads,
                                  double seconds) {
    (void)path, (void)precision, (void)threads, (void)seconds;
    return 0.0;
}
