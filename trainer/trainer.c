/* trainer.c -- the C ABI of puffer_trainer.h: make a trainer, train, look inside, end it. */
#include "internal.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK_BYTES (320 << 10)     // what a block of training may take of a core's second cache

int32_t fail(char* error, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, PUFFER_ERROR_SIZE, format, arguments);
    va_end(arguments);
    return -1;
}

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- making -----------------------------------------------------------------------------------

static int32_t check_config(const PufferTrainerConfig* config, char* error) {
    if (config->version != PUFFER_TRAINER_VERSION || config->struct_size != (int32_t)sizeof *config)
        return fail(error, "the caller was made for another version of the trainer");
    struct { const char* name; int64_t value, low, high; } bounds[] = {
        {"agents", config->agents, 1, 1 << 24}, {"horizon", config->horizon, 0, 65536},
        {"obs_size", config->obs_size, 1, 1 << 28}, {"num_atns", config->num_atns, 1,
        PUFFER_MAX_HEADS}, {"hidden_size", config->hidden_size, 1, 16384},
        {"num_layers", config->num_layers, 1, MAX_LAYERS}, {"threads", config->threads, 1, 1024},
        {"total_epochs", config->total_epochs, 1, INT64_MAX},
        {"seed", (int64_t)config->seed, 0, ((int64_t)1 << 56) - 1},
        {"obs_dtype", config->obs_dtype, PUFFER_U8, PUFFER_F32}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (bounds[i].value < bounds[i].low || bounds[i].value > bounds[i].high)
            return fail(error, "%s is %lld, not from %lld to %lld", bounds[i].name,
                        (long long)bounds[i].value, (long long)bounds[i].low,
                        (long long)bounds[i].high);
    for (int head = 0; head < config->num_atns; head++)
        if (config->act_sizes[head] < 1 || config->act_sizes[head] > 1 << 20)
            return fail(error, "head %d has %d actions", head, config->act_sizes[head]);
    if (!config->horizon) return 0;
    int64_t batch = (int64_t)config->agents * config->horizon;
    if (config->minibatch_size < config->horizon || config->minibatch_size % config->horizon
        || config->minibatch_size > batch)
        return fail(error, "minibatch_size is %d, not a multiple of horizon %d up to %lld",
                    config->minibatch_size, config->horizon, (long long)batch);
    return 0;
}

// Rows of a training block, in whole segments
static void plan_blocks(PufferTrainer* trainer) {
    const PufferTrainerConfig* config = &trainer->config;
    const Policy* policy = &trainer->policy;
    int64_t row = (policy->L + 2) * (int64_t)policy->ldx + policy->L * (policy->ldg + policy->Hp)
                  + policy->Ap + 2 * (policy->A + 2) + 16;
    int64_t segment = row * (int64_t)sizeof(float) * (config->horizon ? config->horizon : 1);
    trainer->segments = config->horizon ? config->minibatch_size / config->horizon : 0;
    trainer->chunk_count = trainer->segments < MAX_CHUNKS ? trainer->segments : MAX_CHUNKS;
    int64_t fit = BLOCK_BYTES / segment;
    trainer->segments_per_block = fit < 1 ? 1 : fit > 8 ? 8 : (int32_t)fit;
    int64_t rows = (int64_t)trainer->segments_per_block * config->horizon;
    trainer->work_rows = (int32_t)(rows > BLOCK_ROWS ? rows : BLOCK_ROWS);
    trainer->columns_ld = round_up(trainer->work_rows, KERNEL_ROWS) + KERNEL_ROWS;
}

static void plan_weights(PufferTrainer* trainer) {
    Policy* policy = &trainer->policy;
    int D = policy->D, H = policy->H, Hp = policy->Hp;
    int64_t offset = 0, chunk = 0;
    for (int m = 0; m < policy->L + 2; m++) {
        Matrix* matrix = &trainer->matrices[m];
        matrix->offset = offset;
        matrix->chunk_offset = chunk;
        offset += round_up((int64_t)matrix->rows * matrix->cols, 16);
        chunk += (int64_t)matrix->chunk_rows * Hp;
    }
    int vectors = round_up(policy->heads.continuous, 16);
    trainer->weight_count = offset + vectors;
    trainer->chunk_size = chunk + vectors;
    Arena* weights = &trainer->weights;
    ARENA_ADD(weights, trainer->all_weights, trainer->weight_count);
    ARENA_ADD(weights, policy->encoder_panels, (int64_t)D * Hp);
    for (int l = 0; l < policy->L; l++) {
        ARENA_ADD(weights, policy->layer_forward[l], (int64_t)3 * H * Hp);
        ARENA_ADD(weights, policy->layer_backward[l], (int64_t)3 * Hp * Hp);
        if (!policy->kernels->pack_pairs) continue;
        arena_add(weights, &policy->pairs_forward[l], sizeof(float) * (size_t)(3 * Hp * (H + 1) / 2));
        arena_add(weights, &policy->pairs_backward[l], sizeof(float) * (size_t)(3 * Hp * Hp / 2));
    }
    ARENA_ADD(weights, policy->decoder_forward, (int64_t)H * policy->Ap);
    ARENA_ADD(weights, policy->decoder_backward, (int64_t)(policy->A + 1) * Hp);
    if (!trainer->config.horizon) return;

    ARENA_ADD(&trainer->gradients, trainer->all_gradients, trainer->weight_count);
    for (int c = 0; c < trainer->chunk_count; c++)
        ARENA_ADD(&trainer->gradients, trainer->chunks[c], trainer->chunk_size);
    ARENA_ADD(&trainer->gradients, trainer->chunk_sums, trainer->chunk_count);
    ARENA_ADD(&trainer->gradients, trainer->partial, trainer->weight_count / SLAB + 1);
    Arena* optimizer = &trainer->optimizer;
    for (int m = 0; m < policy->L + 2; m++) {
        Matrix* matrix = &trainer->matrices[m];
        int64_t count = (int64_t)matrix->rows * matrix->cols, ld = matrix->ld;
        ARENA_ADD(optimizer, matrix->momentum, count);
        ARENA_ADD(optimizer, matrix->update, count);
        ARENA_ADD(optimizer, matrix->X, matrix->tall * ld);
        ARENA_ADD(optimizer, matrix->Y, matrix->tall * ld);
        ARENA_ADD(optimizer, matrix->G, ld * ld);
        ARENA_ADD(optimizer, matrix->P, ld * ld);
    }
    ARENA_ADD(optimizer, trainer->adam_m, vectors);
    ARENA_ADD(optimizer, trainer->adam_v, vectors);
}

static void plan_rollout(PufferTrainer* trainer) {
    const PufferTrainerConfig* config = &trainer->config;
    const Policy* policy = &trainer->policy;
    int64_t N = config->agents, rows = N * config->horizon;
    Arena* buffers = &trainer->buffers;
    Rollout* out = &trainer->rollout;
    ARENA_ADD(buffers, trainer->state, N * policy->L * policy->Hp);
    if (!rows) return;
    arena_add(buffers, &out->obs, (size_t)(rows * policy->D) * (config->obs_dtype ? 4 : 1));
    ARENA_ADD(buffers, out->actions, rows * policy->K);
    float** by_row[] = {&out->logprobs, &out->values, &out->rewards, &out->ended, &out->truncated,
                        &out->values_now, &out->ratio_now, &out->advantages, &out->returns};
    for (size_t i = 0; i < sizeof by_row / sizeof *by_row; i++)
        arena_add(buffers, (void**)by_row[i], (size_t)rows * sizeof(float));
    ARENA_ADD(buffers, out->bootstrap, N);
    ARENA_ADD(buffers, out->state0, N * policy->L * policy->Hp);
    if (config->has_masks) ARENA_ADD(buffers, out->masks, rows * policy->A);

    Picker* picker = &trainer->picker;
    Arena* plan = &trainer->plan;
    ARENA_ADD(plan, picker->sums, N);
    ARENA_ADD(plan, picker->rows, trainer->segments);
    ARENA_ADD(plan, picker->q, trainer->segments);
    ARENA_ADD(plan, picker->repeated, trainer->segments);
    ARENA_ADD(plan, picker->seen, N);
    ARENA_ADD(plan, picker->cdf, N);
    ARENA_ADD(plan, picker->deck, N);
    ARENA_ADD(plan, picker->spare, N);
    ARENA_ADD(plan, picker->keys, N);
    ARENA_ADD(plan, picker->spare_keys, N);
    ARENA_ADD(plan, trainer->blocks, N);
    picker->deck_epoch = -1;
}

static void plan_work(PufferTrainer* trainer) {
    const Policy* policy = &trainer->policy;
    int64_t rows = trainer->work_rows, ld = trainer->columns_ld;
    int train = trainer->config.horizon > 0;
    for (int w = 0; w < trainer->config.threads; w++) {
        Workspace* work = &trainer->work[w];
        Arena* arena = &trainer->activations;
        if (policy->dtype == PUFFER_U8) {
            ARENA_ADD(arena, work->where, rows * policy->D);
            ARENA_ADD(arena, work->what, rows * policy->D);
            ARENA_ADD(arena, work->starts, rows + 1);
            ARENA_ADD(arena, work->wide_obs, rows * policy->ldw);
        }
        for (int l = 0; l <= (policy->L > 1 && train ? policy->L : 1); l++)
            ARENA_ADD(arena, work->x[l], rows * policy->ldx);
        for (int l = 0; l < policy->L && train; l++) {
            ARENA_ADD(arena, work->gates[l], rows * policy->ldg);
            ARENA_ADD(arena, work->h[l], rows * policy->Hp);
        }
        ARENA_ADD(arena, work->dx, rows * policy->ldx);
        ARENA_ADD(arena, work->carry, policy->Hp);
        ARENA_ADD(arena, work->out, rows * policy->Ap);
        ARENA_ADD(arena, work->columns, (policy->A + 2) * ld);
        ARENA_ADD(arena, work->scratch, (policy->A + 2) * ld);
        ARENA_ADD(arena, work->before, policy->L * rows);
        for (int i = 0; i < 7; i++) ARENA_ADD(arena, work->per_row[i], ld);
        ARENA_ADD(arena, work->actions, rows * policy->K);
        ARENA_ADD(arena, work->mask, rows * policy->A);
        ARENA_ADD(arena, work->sampled, 2 * BLOCK_ROWS);
        ARENA_ADD(arena, work->fade, trainer->config.horizon + 1);
    }
}

static int32_t take_memory(PufferTrainer* trainer, char* error) {
    Arena* arenas[] = {&trainer->weights, &trainer->gradients, &trainer->optimizer,
                       &trainer->buffers, &trainer->activations, &trainer->plan};
    for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++) {
        if (!arenas[i]->count) continue;
        if (arena_commit(arenas[i]))
            return fail(error, "%lld MiB of memory are not there",
                        (long long)(arenas[i]->bytes >> 20));
        trainer->allocations++;
        trainer->bytes += (int64_t)arenas[i]->bytes;
    }
    for (int m = 0; m < trainer->policy.L + 2; m++) {
        Matrix* matrix = &trainer->matrices[m];
        matrix->weight = trainer->all_weights + matrix->offset;
        if (trainer->all_gradients) matrix->gradient = trainer->all_gradients + matrix->offset;
    }
    for (int l = 0; l < trainer->policy.L; l++) {
        Policy* policy = &trainer->policy;
        int paired = policy->kernels->pack_pairs != NULL;
        policy->forward_weights[l] = paired ? policy->pairs_forward[l] : policy->layer_forward[l];
        policy->backward_weights[l] = paired ? policy->pairs_backward[l]
                                             : policy->layer_backward[l];
    }
    trainer->policy.logstd = trainer->all_weights + trainer->weight_count
                             - round_up(trainer->policy.heads.continuous, 16);
    return 0;
}

// ---- tensors ----------------------------------------------------------------------------------

static void add_tensor(PufferTrainer* trainer, const char* name, int kind, int dtype, void* data,
                       int dims, const int64_t* shape, const int64_t* strides) {
    if (!data || trainer->tensor_count == MAX_TENSORS) return;
    PufferTrainerTensor* tensor = &trainer->tensors[trainer->tensor_count++];
    tensor->name = name;
    tensor->kind = kind;
    tensor->dtype = dtype;
    tensor->data = data;
    tensor->dims = dims;
    int64_t step = dtype == PUFFER_U8 ? 1 : 4;
    for (int i = dims - 1; i >= 0; i--) {
        tensor->shape[i] = shape[i];
        tensor->strides[i] = strides ? strides[i] : step;
        step *= shape[i];
    }
}

static void list_matrix(PufferTrainer* trainer, Matrix* matrix, const char* name, int kind,
                        float* data) {
    int64_t shape[2] = {matrix->fan_out, matrix->fan_in};
    int64_t row = (int64_t)sizeof(float) * matrix->cols, strides[2] = {row, sizeof(float)};
    if (matrix == &trainer->matrices[0]) {          // stored transposed
        strides[0] = sizeof(float);
        strides[1] = row;
    }
    add_tensor(trainer, name, kind, PUFFER_F32, data, 2, shape, strides);
}

static void list_tensors(PufferTrainer* trainer) {
    const PufferTrainerConfig* config = &trainer->config;
    const Policy* policy = &trainer->policy;
    Rollout* out = &trainer->rollout;
    for (int m = 0; m < policy->L + 2; m++)
        list_matrix(trainer, &trainer->matrices[m], trainer->matrices[m].label, PUFFER_WEIGHT,
                    trainer->matrices[m].weight);
    int64_t vector[1] = {policy->heads.continuous};
    if (vector[0])
        add_tensor(trainer, "logstd", PUFFER_WEIGHT, PUFFER_F32, policy->logstd, 1, vector, NULL);
    if (!config->horizon) return;
    for (int m = 0; m < policy->L + 2; m++)
        list_matrix(trainer, &trainer->matrices[m], trainer->matrices[m].momentum_label,
                    PUFFER_OPTIMIZER, trainer->matrices[m].momentum);
    if (vector[0]) {
        add_tensor(trainer, "adam.m.logstd", PUFFER_OPTIMIZER, PUFFER_F32, trainer->adam_m, 1,
                   vector, NULL);
        add_tensor(trainer, "adam.v.logstd", PUFFER_OPTIMIZER, PUFFER_F32, trainer->adam_v, 1,
                   vector, NULL);
    }
    int64_t N = config->agents, T = config->horizon;
    int64_t rows[3] = {N, T, policy->D};
    add_tensor(trainer, "obs", PUFFER_ROLLOUT, config->obs_dtype, out->obs, 3, rows, NULL);
    rows[2] = policy->K;
    add_tensor(trainer, "actions", PUFFER_ROLLOUT, PUFFER_F32, out->actions, 3, rows, NULL);
    rows[2] = policy->A;
    add_tensor(trainer, "masks", PUFFER_ROLLOUT, PUFFER_U8, out->masks, 3, rows, NULL);
    struct { const char* name; float* data; } flat[] = {
        {"log_probs", out->logprobs}, {"values", out->values}, {"rewards", out->rewards},
        {"ended", out->ended}, {"truncated", out->truncated}, {"values_now", out->values_now},
        {"ratio_now", out->ratio_now}, {"advantages", out->advantages}};
    for (size_t i = 0; i < sizeof flat / sizeof *flat; i++)
        add_tensor(trainer, flat[i].name, PUFFER_ROLLOUT, PUFFER_F32, flat[i].data, 2, rows, NULL);
    add_tensor(trainer, "bootstrap", PUFFER_ROLLOUT, PUFFER_F32, out->bootstrap, 1, rows, NULL);
    int64_t states[3] = {N, policy->L, policy->H};
    int64_t strides[3] = {4 * (int64_t)policy->L * policy->Hp, 4 * (int64_t)policy->Hp, 4};
    add_tensor(trainer, "state0", PUFFER_ROLLOUT, PUFFER_F32, out->state0, 3, states, strides);
    add_tensor(trainer, "state", PUFFER_ROLLOUT, PUFFER_F32, trainer->state, 3, states, strides);
}

int32_t puffer_trainer_tensor(PufferTrainer* trainer, int32_t index, PufferTrainerTensor* out) {
    if (index < 0 || index >= trainer->tensor_count) return 0;
    *out = trainer->tensors[index];
    return 1;
}

// ---- life -------------------------------------------------------------------------------------

PufferTrainer* puffer_trainer_create(const PufferTrainerConfig* config, char* error) {
    if (check_config(config, error)) return NULL;
    PufferTrainer* trainer = calloc(1, sizeof *trainer);
    Workspace* work = calloc((size_t)config->threads, sizeof *work);
    if (!trainer || !work) {
        free(trainer);
        free(work);
        fail(error, "there is no memory for a trainer");
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
    plan_blocks(trainer);
    plan_weights(trainer);
    plan_rollout(trainer);
    plan_work(trainer);
    if (take_memory(trainer, error)) {
        puffer_trainer_destroy(trainer);
        return NULL;
    }
    trainer->pool = pool_create(config->threads);
    if (!trainer->pool) {
        fail(error, "the system gives no %d threads", config->threads);
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
    Arena* arenas[] = {&trainer->weights, &trainer->gradients, &trainer->optimizer,
                       &trainer->buffers, &trainer->activations, &trainer->plan};
    for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++) arena_free(arenas[i]);
    free(trainer->replay_rows);
    free(trainer->replay_q);
    free(trainer->work);
    free(trainer);
}

int32_t puffer_trainer_attach(PufferTrainer* trainer, const PufferTrainerEnvs* envs, char* error) {
    if (!trainer->config.horizon) return fail(error, "this trainer can only act");
    if (trainer->config.has_masks && !envs->action_mask)
        return fail(error, "the envs have no action masks");
    trainer->envs = *envs;
    puffer_trainer_reset_state(trainer);
    if (rollout_plan(trainer, error) == 0) return 0;
    trainer->envs.vec = NULL;
    return -1;
}

void puffer_trainer_touch(PufferTrainer* trainer) { trainer->stale = 1; }

PufferTrainerCounters* puffer_trainer_counters(PufferTrainer* trainer) {
    return &trainer->counters;
}

void puffer_trainer_replay(PufferTrainer* trainer, const int32_t* rows, const float* q,
                           int32_t minibatches) {
    size_t count = (size_t)minibatches * (size_t)trainer->segments;
    free(trainer->replay_rows);
    free(trainer->replay_q);
    trainer->replay_rows = malloc(sizeof(int32_t) * (count + 1));
    trainer->replay_q = malloc(sizeof(float) * (count + 1));
    trainer->replay_count = trainer->replay_rows && trainer->replay_q ? minibatches : 0;
    if (!trainer->replay_count) return;
    memcpy(trainer->replay_rows, rows, sizeof(int32_t) * count);
    memcpy(trainer->replay_q, q, sizeof(float) * count);
}

// ---- update -----------------------------------------------------------------------------------

// From `start` at progress 0 to floor * start at progress 1, along half a cosine
static double cosine(double start, double floor, double progress) {
    return start * (floor + (1.0 - floor) * 0.5 * (1.0 + cos(3.14159265358979323846 * progress)));
}

static int all_finite(const float* x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] - x[i] == 0.0f)) return 0;
    return 1;
}

static int32_t explain_loss(PufferTrainer* trainer, char* error) {
    const Policy* policy = &trainer->policy;
    Rollout* out = &trainer->rollout;
    int64_t rows = (int64_t)trainer->config.agents * trainer->config.horizon;
    long long epoch = (long long)trainer->counters.epoch;
    struct { const char* name; const float* data; int64_t count; } inputs[] = {
        {"observations", policy->dtype == PUFFER_F32 ? out->obs : NULL, rows * policy->D},
        {"recurrent state", out->state0,
         (int64_t)trainer->config.agents * policy->L * policy->Hp},
        {"actions", out->actions, rows * policy->K}, {"rewards", out->rewards, rows},
        {"log-probabilities", out->logprobs, rows}, {"advantages", out->advantages, rows}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (inputs[i].data && !all_finite(inputs[i].data, inputs[i].count))
            return fail(error, "%s went bad\tepoch %lld", inputs[i].name, epoch);
    for (int m = 0; m < policy->L + 2; m++) {
        const Matrix* matrix = &trainer->matrices[m];
        if (!all_finite(matrix->weight, (int64_t)matrix->rows * matrix->cols))
            return fail(error, "weights of %s went bad\tepoch %lld", matrix->name, epoch);
    }
    if (!all_finite(policy->logstd, policy->heads.continuous))
        return fail(error, "weights of logstd went bad\tepoch %lld", epoch);
    if (!all_finite(out->values_now, rows)) return fail(error, "values went bad\tepoch %lld", epoch);
    if (!all_finite(out->ratio_now, rows)) return fail(error, "ratio went bad\tepoch %lld", epoch);
    for (int m = policy->L + 1; m >= 0; m--) {
        const Matrix* matrix = &trainer->matrices[m];
        if (!all_finite(matrix->gradient, (int64_t)matrix->rows * matrix->cols))
            return fail(error, "gradient of %s went bad\tepoch %lld", matrix->name, epoch);
    }
    return fail(error, "the loss or the gradient norm overflows\tepoch %lld", epoch);
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
    double norm = muon_reduce(trainer), loss = sums[0] + sums[1] + sums[2];
    if (!isfinite(norm) || !isfinite(loss)) return explain_loss(trainer, error);
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
    for (int32_t number = 0; number < losses->minibatches; number++)
        if (learn(trainer, number, losses, error)) return -1;
    trainer->replay_count = 0;
    if (!all_finite(trainer->all_weights, trainer->weight_count)) return explain_loss(trainer, error);
    average(losses);
    trainer->counters.epoch++;
    trainer->update_seconds += seconds_now() - began;
    return 0;
}

// ---- looking inside ---------------------------------------------------------------------------

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
        if (kernels_find(path, trainer->config.precision) == trainer->policy.kernels) out->path = path;
    out->block_agents = trainer->block_rows;
    out->blocks = trainer->block_count;
    out->lockstep = trainer->lockstep;
}

_Static_assert(PHASES <= PUFFER_TRAINER_PHASES, "stats.seconds is too short");

const char* puffer_trainer_phase(int32_t index) {
    static const char* const names[PHASES] = {
        "rollout: copy observations", "rollout: encoder", "rollout: layers", "rollout: decoder",
        "rollout: sample actions", "rollout: environments", "rollout: store",
        "update: advantages", "update: pick segments", "update: gather", "update: encoder", "update: layers",
        "update: loss", "update: layers backward", "update: gradients of activations",
        "update: gradients of weights", "update: encoder backward", "update: add gradients",
        "update: Muon", "update: pack weights"};
    return index >= 0 && index < PHASES ? names[index] : NULL;
}

const char* puffer_trainer_path_name(int32_t path) {
    static const char* const names[] = {"auto", "generic", "avx2", "avx512", "neon"};
    return path >= 0 && path < KERNELS_PATHS ? names[path] : "unknown";
}

int32_t puffer_trainer_path_available(int32_t path) { return kernels_find(path, 0) != NULL; }
