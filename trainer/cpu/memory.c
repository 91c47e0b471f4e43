/* memory.c -- every size of a CPU trainer, then one allocation for each kind of memory. */
#define _DEFAULT_SOURCE    // sysconf
#include "internal.h"
#include <unistd.h>

#define BLOCK_BYTES   (320 << 10)    // what a block of training may take of a core's second cache
#define LEAST_ROWS    128    // of a block that takes more: it reads and writes the gradients
#define MOST_SEGMENTS 8      // of a block

// Rows of a training block, in whole segments
static void plan_blocks(PufferTrainer* trainer) {
    const PufferTrainerConfig* config = &trainer->config;
    const Policy* policy = &trainer->policy;
    int64_t row = (policy->L + 2) * (int64_t)policy->ldx
                  + policy->L * (policy->ldg + policy->H_padded) + policy->A_padded
                  + 2 * (policy->A + 2) + 16 + seeing_row(policy);
    int64_t segment = row * (int64_t)sizeof(float) * (config->horizon ? config->horizon : 1);
    trainer->segments = segments_per_minibatch(config);
    trainer->chunk_count = trainer->segments < MAX_CHUNKS ? trainer->segments : MAX_CHUNKS;
    int64_t fit = BLOCK_BYTES / segment, T = config->horizon ? config->horizon : 1;
    if (fit * T < LEAST_ROWS) fit = (LEAST_ROWS + T - 1) / T;
    trainer->segments_per_block = fit > MOST_SEGMENTS ? MOST_SEGMENTS : (int32_t)fit;
    int64_t rows = (int64_t)trainer->segments_per_block * config->horizon;
    trainer->work_rows = (int32_t)(rows > BLOCK_ROWS ? rows : BLOCK_ROWS);
    trainer->columns_ld = (int32_t)round_up(trainer->work_rows, KERNEL_ROWS) + KERNEL_ROWS;
}

// Places in a matrix, and in a block of bytes, are counted in 32 bits
static int32_t check_sizes(const PufferTrainer* trainer, Error* error) {
    const Policy* policy = &trainer->policy;
    for (int m = 0; m < policy->num_matrices; m++) {
        const Matrix* matrix = &trainer->matrices[m];
        if ((int64_t)matrix->tall * matrix->ld > INT32_MAX)
            return fail(error, "the weights of %s would be more than 2^31: %d x %d", matrix->name,
                        matrix->fan_out, matrix->fan_in);
    }
    int64_t widest = policy->D > policy->A ? policy->D : policy->A, kept = seeing_row(policy);
    widest = kept > widest ? kept : widest;
    if (trainer->work_rows * (widest + 16) > INT32_MAX)
        return fail(error, "horizon %d x %lld numbers a tick would be more than 2^31",
                    trainer->config.horizon, (long long)widest);
    return 0;
}

// Whether a matrix multiplies numbers of the observation: the encoder, a part's first convolution
static int sees_numbers(const Policy* policy, int m) {
    int found = m == 0;
    for (int p = 0; p < policy->seeing.count; p++)
        found |= policy->seeing.parts[p].num_layers
                 && policy->seeing.parts[p].layers[0].matrix == m;
    return found;
}

static void plan_weights(PufferTrainer* trainer) {
    Policy* policy = &trainer->policy;
    int H = policy->H, H_padded = policy->H_padded;
    int64_t offset = 0, chunk = 0;
    for (int m = 0; m < policy->num_matrices; m++) {
        Matrix* matrix = &trainer->matrices[m];
        matrix->offset = offset;
        matrix->chunk_offset = chunk;
        offset += round_up((int64_t)matrix->rows * matrix->cols, 16);
        chunk += (int64_t)matrix->chunk_rows * matrix->chunk_cols;
    }
    int vectors = (int32_t)round_up(policy->heads.continuous, 16);
    trainer->weight_count = offset + vectors;
    trainer->chunk_size = chunk + vectors;
    Arena* weights = &trainer->weights;
    ARENA_ADD(weights, trainer->all_weights, trainer->weight_count);
    for (int m = 0; m < policy->num_matrices && trainer->config.obs_scale; m++)
        if (sees_numbers(policy, m))
            ARENA_ADD(weights, trainer->matrices[m].factors, trainer->matrices[m].rows);
    ARENA_ADD(weights, policy->encoder_panels, (int64_t)policy->E * H_padded);
    seeing_plan(policy, weights);
    for (int l = 0; l < policy->L; l++) {
        ARENA_ADD(weights, policy->layer_forward[l], (int64_t)3 * H * H_padded);
        ARENA_ADD(weights, policy->layer_backward[l], (int64_t)3 * H_padded * H_padded);
        if (!policy->kernels->pack_pairs) continue;
        size_t column = 3 * (size_t)H_padded * sizeof(uint32_t);    // a word is two in k
        arena_add(weights, &policy->pairs_forward[l], column * (size_t)((H + 1) / 2));
        arena_add(weights, &policy->pairs_backward[l], column * (size_t)(H_padded / 2));
    }
    ARENA_ADD(weights, policy->decoder_forward, (int64_t)H * policy->A_padded);
    ARENA_ADD(weights, policy->decoder_backward, (int64_t)(policy->A + 1) * H_padded);
    if (!trainer->config.horizon) return;

    ARENA_ADD(&trainer->gradients, trainer->all_gradients,
              trainer->weight_count + KERNEL_LOSSES + exchange_room(trainer, TOTALS));
    for (int c = 0; c < trainer->chunk_count; c++)
        ARENA_ADD(&trainer->gradients, trainer->chunks[c], trainer->chunk_size);
    ARENA_ADD(&trainer->gradients, trainer->chunk_sums, trainer->chunk_count);
    ARENA_ADD(&trainer->gradients, trainer->partial, trainer->weight_count / SLAB + 1);
    Arena* optimizer = &trainer->optimizer;
    for (int m = 0; m < policy->num_matrices; m++) {
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
    ARENA_ADD(buffers, trainer->state, N * policy->L * policy->H_padded);
    if (!rows) return;
    arena_add(buffers, &out->obs, (size_t)(rows * obs_row_size(policy)));
    ARENA_ADD(buffers, out->actions, rows * policy->K);
    float** by_row[] = {&out->logprobs,  &out->values,     &out->rewards,
                        &out->ended,     &out->truncated,  &out->values_now,
                        &out->ratio_now, &out->advantages, &out->returns};
    for (size_t i = 0; i < sizeof by_row / sizeof *by_row; i++)
        arena_add(buffers, (void**)by_row[i], (size_t)rows * sizeof(float));
    ARENA_ADD(buffers, out->bootstrap, N);
    ARENA_ADD(buffers, trainer->known, 4 + config->ranks);
    ARENA_ADD(buffers, out->state0, N * policy->L * policy->H_padded);
    if (config->has_masks) ARENA_ADD(buffers, out->masks, rows * policy->A);
    if (config->has_final_obs) ARENA_ADD(buffers, out->final_values, rows);
    if (has_live(config)) ARENA_ADD(buffers, out->live, rows);
    if (config->has_waits) ARENA_ADD(buffers, trainer->moves, N);
    if (config->has_waits) ARENA_ADD(buffers, out->played, rows * policy->K);

    Picker* picker = &trainer->picker;
    Arena* plan = &trainer->plan;
    ARENA_ADD(plan, picker->sums, N);
    ARENA_ADD(plan, picker->alive, N);
    ARENA_ADD(plan, picker->ticks, N);
    ARENA_ADD(plan, picker->rows, trainer->segments);
    ARENA_ADD(plan, picker->importance, trainer->segments);
    ARENA_ADD(plan, picker->repeated, trainer->segments);
    ARENA_ADD(plan, picker->seen, N);
    ARENA_ADD(plan, picker->cdf, N);
    ARENA_ADD(plan, picker->segment_order, N);
    ARENA_ADD(plan, picker->spare, N);
    ARENA_ADD(plan, picker->keys, N);
    ARENA_ADD(plan, picker->spare_keys, N);
    ARENA_ADD(plan, trainer->blocks, N);
    picker->order_epoch = -1;
}

static void plan_work(PufferTrainer* trainer) {
    const Policy* policy = &trainer->policy;
    int64_t rows = trainer->work_rows, ld = trainer->columns_ld;
    int train = trainer->config.horizon > 0;
    for (int w = 0; w < trainer->config.threads; w++) {
        Workspace* work = &trainer->work[w];
        Arena* arena = &trainer->activations;
        if (reads_bytes(policy)) {
            ARENA_ADD(arena, work->where, rows * policy->D);
            ARENA_ADD(arena, work->what, rows * policy->D);
            ARENA_ADD(arena, work->starts, rows + 1);
        }
        if (policy->dtype != PUFFER_F32 && !policy->seeing.count)
            ARENA_ADD(arena, work->wide_obs, rows * policy->ldw);
        seeing_plan_work(policy, work, arena, rows, train);
        for (int l = 0; l <= (policy->L > 1 && train ? policy->L : 1); l++)
            ARENA_ADD(arena, work->x[l], rows * policy->ldx);
        for (int l = 0; l < policy->L && train; l++) {
            ARENA_ADD(arena, work->gates[l], rows * policy->ldg);
            ARENA_ADD(arena, work->h[l], rows * policy->H_padded);
        }
        ARENA_ADD(arena, work->dx, rows * policy->ldx);
        int32_t widest = policy->H_padded;
        for (int m = 0; m < policy->num_matrices; m++)
            if (trainer->matrices[m].chunk_cols > widest) widest = trainer->matrices[m].chunk_cols;
        ARENA_ADD(arena, work->carry, widest);
        ARENA_ADD(arena, work->out, rows * policy->A_padded);
        ARENA_ADD(arena, work->columns, (policy->A + 2) * ld);
        ARENA_ADD(arena, work->scratch, (policy->A + 2) * ld);
        ARENA_ADD(arena, work->before, policy->L * rows);
        for (int i = 0; i < 8; i++) ARENA_ADD(arena, work->per_row[i], ld);
        ARENA_ADD(arena, work->actions, rows * policy->K);
        ARENA_ADD(arena, work->mask, rows * policy->A);
        ARENA_ADD(arena, work->sampled, 2 * BLOCK_ROWS);
        ARENA_ADD(arena, work->fade, trainer->config.horizon + 1);
        arena_add(arena, (void**)&work->some_obs, BLOCK_ROWS * (size_t)obs_row_size(policy));
        ARENA_ADD(arena, work->some_state, BLOCK_ROWS * policy->L * policy->H_padded);
        ARENA_ADD(arena, work->some_out, BLOCK_ROWS * policy->A_padded);
        ARENA_ADD(arena, work->some, BLOCK_ROWS);
    }
}

int32_t memory_take(PufferTrainer* trainer, Error* error) {
    plan_blocks(trainer);
    if (check_sizes(trainer, error)) return -1;
    plan_weights(trainer);
    plan_rollout(trainer);
    plan_work(trainer);
    Arena* arenas[] = {&trainer->weights, &trainer->gradients,   &trainer->optimizer,
                       &trainer->buffers, &trainer->activations, &trainer->plan};
    for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++)
        trainer->bytes += (int64_t)arenas[i]->bytes;
    int64_t there = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    if (there > 0 && trainer->bytes > there)
        return fail_as(error, PUFFER_TRAINER_OUT_OF_MEMORY,
                       "this takes %lld MiB of memory, the machine has %lld",
                       (long long)(trainer->bytes >> 20), (long long)(there >> 20));
    for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++) {
        if (!arenas[i]->count) continue;
        if (arena_commit(arenas[i]))
            return fail_as(error, PUFFER_TRAINER_OUT_OF_MEMORY,
                           "the system cannot provide %lld MiB of memory",
                           (long long)(arenas[i]->bytes >> 20));
        trainer->allocations++;
    }
    for (int m = 0; m < trainer->policy.num_matrices; m++) {
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

void memory_free(PufferTrainer* trainer) {
    Arena* arenas[] = {&trainer->weights, &trainer->gradients,   &trainer->optimizer,
                       &trainer->buffers, &trainer->activations, &trainer->plan};
    for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++) arena_free(arenas[i]);
}
