/* memory.c -- every size of a CUDA trainer, then one allocation for each kind of memory and GPU. */
#include "internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Final observations that an agent's rollout has room for: one in 8 ticks, all if it is short. Each
// costs an observation and a state; episodes that a time limit ends sooner than that, again and
// again, are rare. Of those the later ones count as truncated = 1. The CPU trainer has no such
// limit: it values them in the tick that ends them
#define SHORT_ROLLOUT 16
#define FINAL_TICKS   8

// ---- the network ------------------------------------------------------------------------------

static void size_matrix(PufferTrainer* trainer, int number, const char* format, int index, int rows,
                        int cols) {
    Matrix* matrix = &trainer->matrices[number];
    matrix->rows = rows;
    matrix->cols = cols;
    matrix->fan_out = number ? rows : cols;    // the encoder is stored transposed
    matrix->fan_in = number ? cols : rows;
    matrix->offset = trainer->vectors;
    trainer->vectors += round_up((int64_t)rows * cols, 16);
    trainer->chunk_count += (int32_t)(((int64_t)rows * cols + CUDA_CHUNK - 1) / CUDA_CHUNK);
    char label[sizeof matrix->label];
    snprintf(label, sizeof label, format, index);
    snprintf(matrix->label, sizeof matrix->label, "%s", label);
    snprintf(matrix->momentum_label, sizeof matrix->momentum_label, "muon.%s", label);
}

static void size_network(PufferTrainer* trainer) {
    int H = trainer->H, L = trainer->L, dims = trainer->heads.continuous;
    size_matrix(trainer, 0, "encoder", 0, trainer->D, H);
    for (int l = 0; l < L; l++) size_matrix(trainer, 1 + l, "layers.%d", l, 3 * H, H);
    size_matrix(trainer, 1 + L, "decoder", 0, trainer->A + 1, H);
    trainer->weight_count = trainer->vectors + round_up(dims, 16);
    if (dims) trainer->chunk_count++;
    int32_t first[] = {0, 1, 1 + L}, count[] = {1, L, 1};
    for (int g = 0; g < MUON_GROUPS; g++) {
        const Matrix* matrix = &trainer->matrices[first[g]];
        EACH_RANK(trainer, rank) {
            rank->groups[g].first = first[g];
            rank->groups[g].count = count[g];
            rank->groups[g].tall = matrix->rows > matrix->cols;
        }
    }
}

// Kernels count what they go over in 32 bits
static int32_t check_sizes(const PufferTrainer* trainer, Error* error) {
    int64_t widest = 3 * (int64_t)trainer->H,
            rows = trainer->M > trainer->R ? trainer->M : trainer->R;
    if (trainer->ldw > widest) widest = trainer->ldw;
    if (trainer->ldo > widest) widest = trainer->ldo;
    if (rows * widest >= INT32_MAX)
        return fail(error,
                    "%lld rows x %lld numbers would be more than 2^31: lower "
                    "train.minibatch_size",
                    (long long)rows, (long long)widest);
    if ((int64_t)trainer->R * trainer->L * trainer->H >= INT32_MAX)
        return fail(error, "the recurrent state of a slice would be more than 2^31 numbers");
    if (trainer->weight_count >= INT32_MAX)
        return fail(error, "the weights would be more than 2^31");
    if ((int64_t)trainer->N * trainer->config.horizon >= INT32_MAX)
        return fail(error, "agents x horizon would be more than 2^31 on one GPU");
    return 0;
}

// ---- on the GPU -------------------------------------------------------------------------------

static void plan_weights(Rank* rank) {
    const PufferTrainer* trainer = rank->trainer;
    Arena* memory = &rank->memory;
    float** all[] = {&rank->weights, &rank->gradients, &rank->momentum,
                     &rank->update,  &rank->X,         &rank->Y};
    int async = trainer->config.async;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        arena_add(memory, (void**)all[i], sizeof(float) * (size_t)trainer->weight_count);
    if (async) ARENA_ADD(memory, rank->acting, trainer->weight_count);
    if (trainer->narrow) ARENA_ADD(memory, rank->weights_narrow, trainer->weight_count);
    if (trainer->narrow && async) ARENA_ADD(memory, rank->acting_narrow, trainer->weight_count);
    ARENA_ADD(memory, rank->adam_v, trainer->heads.continuous);
    ARENA_ADD(memory, rank->matrix_table, trainer->L + 2);
    ARENA_ADD(memory, rank->chunk_table, trainer->chunk_count);
    if (trainer->config.obs_scale) ARENA_ADD(memory, rank->obs_scale, trainer->D);
    ARENA_ADD(memory, rank->heads_there, 1);
    ARENA_ADD(memory, rank->schedule, 1);
    ARENA_ADD(memory, rank->report, 1);
    ARENA_ADD(memory, rank->env_facts, 1);
    for (int g = 0; g < MUON_GROUPS; g++) {
        MuonGroup* group = &rank->groups[g];
        const Matrix* matrix = &trainer->matrices[group->first];
        int64_t side = group->tall ? matrix->cols : matrix->rows;
        ARENA_ADD(memory, group->G, group->count * side * side);
        ARENA_ADD(memory, group->P, group->count * side * side);
    }
}

// Of N agents: what acting writes; `learns`: what updates do, as well
static void plan_rollout(const PufferTrainer* trainer, int64_t N, Arena* arena, Rollout* out,
                         int learns) {
    int64_t rows = N * trainer->config.horizon;
    arena_add(arena, &out->obs, obs_bytes(trainer, rows));
    ARENA_ADD(arena, out->actions, rows * trainer->K);
    float** by_row[] = {&out->logprobs,  &out->values,     &out->rewards,
                        &out->ended,     &out->truncated,  &out->values_now,
                        &out->ratio_now, &out->advantages, &out->returns};
    for (int i = 0; i < (learns ? 9 : 5); i++)
        arena_add(arena, (void**)by_row[i], (size_t)rows * sizeof(float));
    ARENA_ADD(arena, out->bootstrap, N);
    ARENA_ADD(arena, out->state0, N * trainer->L * trainer->H);
    if (trainer->config.has_masks) ARENA_ADD(arena, out->masks, rows * trainer->A);
    if (trainer->config.has_final_obs) ARENA_ADD(arena, out->final_values, rows);
    if (has_live(&trainer->config)) ARENA_ADD(arena, out->live, rows);
}

static void plan_finals(Rank* rank) {
    const PufferTrainer* trainer = rank->trainer;
    KeptFinalObs* kept_final_obs = &rank->kept_final_obs;
    int64_t N = trainer->N, kept = trainer->final_slots * N;
    arena_add(&rank->memory, &kept_final_obs->obs, obs_bytes(trainer, kept));
    ARENA_ADD(&rank->memory, kept_final_obs->state, kept * trainer->L * trainer->H);
    ARENA_ADD(&rank->memory, kept_final_obs->ticks, kept);
    ARENA_ADD(&rank->memory, kept_final_obs->counts, N);
    ARENA_ADD(&rank->pinned, kept_final_obs->counts_here, N);
}

static void plan_slice(Rank* rank, Slice* slice) {
    const PufferTrainer* trainer = rank->trainer;
    Arena *memory = &rank->memory, *pinned = &rank->pinned;
    slice->rank = rank;
    int64_t R = trainer->R;
    arena_add(memory, &slice->obs, obs_bytes(trainer, R));
    if (trainer->narrow) {
        ARENA_ADD(memory, slice->narrow, R * trainer->ldw);
        ARENA_ADD(memory, slice->x_narrow, R * trainer->H);
    } else {
        ARENA_ADD(memory, slice->wide, R * trainer->ldw);
    }
    ARENA_ADD(memory, slice->x, R * trainer->H);
    ARENA_ADD(memory, slice->products, R * 3 * trainer->H);
    ARENA_ADD(memory, slice->out, R * trainer->ldo);
    ARENA_ADD(memory, slice->actions, R * trainer->K);
    ARENA_ADD(memory, slice->fault, 1);
    if (trainer->config.has_final_obs) arena_add(memory, &slice->final_obs, obs_bytes(trainer, R));
    size_t bytes = (trainer->config.has_masks ? (size_t)trainer->A : 0)
                   + (trainer->config.has_final_obs ? 1 : 0) + (trainer->config.has_alive ? 1 : 0);
    slice->inbox_bytes = 64 + (size_t)R * (3 * sizeof(float) + bytes);
    arena_add(memory, (void**)&slice->there.tick, slice->inbox_bytes);
    arena_add(pinned, (void**)&slice->here.tick, slice->inbox_bytes);
    ARENA_ADD(pinned, slice->fault_here, 1);
    arena_add(pinned, &slice->obs_copy, obs_bytes(trainer, R));
    ARENA_ADD(pinned, slice->actions_copy, R * trainer->K);
}

static void lay_inbox(const PufferTrainer* trainer, Inbox* inbox) {
    int64_t R = trainer->R;
    inbox->rewards = (float*)((char*)inbox->tick + 64);
    inbox->terminals = inbox->rewards + R;
    inbox->truncations = inbox->terminals + R;
    uint8_t* bytes = (uint8_t*)(inbox->truncations + R);
    inbox->mask = trainer->config.has_masks ? bytes : NULL;
    if (inbox->mask) bytes += R * trainer->A;
    inbox->has_final = trainer->config.has_final_obs ? bytes : NULL;
    if (inbox->has_final) bytes += R;
    inbox->alive = trainer->config.has_alive ? bytes : NULL;
}

static void plan_batch(Rank* rank) {
    const PufferTrainer* trainer = rank->trainer;
    Arena* memory = &rank->memory;
    Buffers* batch = &rank->batch;
    int64_t M = trainer->M, H = trainer->H, loss_parts = (M + CUDA_ROWS - 1) / CUDA_ROWS;
    int narrow = trainer->narrow;
    ARENA_ADD(memory, batch->rows, trainer->S);
    ARENA_ADD(memory, batch->importance, trainer->S);
    ARENA_ADD(memory, batch->repeated, trainer->S);
    if (narrow) ARENA_ADD(memory, batch->narrow, M * trainer->ldw);
    else ARENA_ADD(memory, batch->wide, M * trainer->ldw);
    for (int l = 0; l <= trainer->L; l++) {
        ARENA_ADD(memory, batch->x[l], M * H);
        if (narrow) ARENA_ADD(memory, batch->x_narrow[l], M * H);
        if (l == trainer->L) break;
        ARENA_ADD(memory, batch->h[l], M * H);
        ARENA_ADD(memory, batch->products[l], M * 3 * H);
    }
    ARENA_ADD(memory, batch->out, M * trainer->ldo);
    ARENA_ADD(memory, batch->dx, M * H);
    if (!narrow) ARENA_ADD(memory, batch->dout, M * trainer->ldo);
    if (narrow) {
        ARENA_ADD(memory, batch->dproducts_narrow, M * 3 * H);
        ARENA_ADD(memory, batch->dout_narrow, M * trainer->ldo);
        ARENA_ADD(memory, batch->dx_narrow, M * H);
    }
    ARENA_ADD(memory, batch->slopes, M * trainer->heads.continuous);
    ARENA_ADD(memory, batch->loss_parts, loss_parts * KERNEL_LOSSES);
    ARENA_ADD(memory, batch->dlogstd_parts, loss_parts * trainer->heads.continuous);
    ARENA_ADD(memory, batch->losses, KERNEL_LOSSES);
    ARENA_ADD(memory, batch->gradient_parts, trainer->parts * trainer->weight_count);
    ARENA_ADD(memory, batch->squares, trainer->chunk_count);
    ARENA_ADD(memory, batch->square, 1);
    ARENA_ADD(memory, batch->factors, trainer->L + 2);

    Picker* picker = &rank->picker;
    int64_t N = trainer->N;
    if (trainer->config.has_waits) {
        ARENA_ADD(memory, rank->moves, N);
        ARENA_ADD(memory, rank->waits, N);
    }
    ARENA_ADD(memory, picker->sums, N * KERNEL_SUMS);
    ARENA_ADD(memory, picker->weights, N);
    ARENA_ADD(memory, picker->cdf, N);
    picker->passes = (int32_t)((int64_t)trainer->minibatches * trainer->S / N + 1);
    if (has_live(&trainer->config)) {
        picker->passes++;    // passes of fewer segments end elsewhere
        ARENA_ADD(memory, picker->ticks, N);
        ARENA_ADD(memory, picker->living, N);
        ARENA_ADD(&rank->pinned, picker->ticks_here, N);
        ARENA_ADD(&rank->pinned, picker->living_here, N);
    }
    if (trainer->config.prio_alpha == 0.0) ARENA_ADD(memory, picker->orders, picker->passes * N);
}

// ---- on the host ------------------------------------------------------------------------------

static void plan_host(PufferTrainer* trainer) {
    Arena* host = &trainer->host;
    ARENA_ADD(host, trainer->all_slices, trainer->config.num_buffers);
    ARENA_ADD(host, trainer->workers, trainer->config.threads);
}

int32_t mirror_rollout(PufferTrainer* trainer, Error* error) {
    if (trainer->rollout_block) return 0;
    Arena room = {0};
    int64_t states = (int64_t)trainer->config.agents * trainer->L * trainer->H;
    plan_rollout(trainer, trainer->config.agents, &room, &trainer->rollout_here, 1);
    ARENA_ADD(&room, trainer->state_here, states);
    if (arena_commit(&room))
        return fail_as(error, PUFFER_TRAINER_OUT_OF_MEMORY,
                       "the system cannot provide %lld MiB of memory",
                       (long long)(room.bytes >> 20));
    trainer->rollout_block = room.block;
    tensors_rollout(&trainer->tensors, &trainer->config, trainer->A, trainer->H,
                    trainer->state_here, &trainer->rollout_here);
    return 0;
}

// ---- all of it --------------------------------------------------------------------------------

int32_t arena_take(Rank* rank, Arena* arena, void* (*take)(Device*, size_t), Error* error) {
    PufferTrainer* trainer = rank->trainer;
    void* block = arena->failed ? NULL : take(rank->device, arena->bytes);
    long long needed = (long long)(arena->bytes >> 20);
    if (!block && device_failure(rank->device)) return device_failed(trainer, error);
    if (!block && take == device_pinned)
        return fail_as(error, PUFFER_TRAINER_OUT_OF_MEMORY,
                       "the system cannot provide %lld MiB of pinned memory", needed);
    if (!block) {
        DeviceFacts facts;
        device_facts(rank->device, &facts);
        return fail_as(error, PUFFER_TRAINER_OUT_OF_MEMORY,
                       "this takes %lld MiB of GPU memory, %lld MiB of the GPU's are not in use",
                       needed, (long long)(facts.unused >> 20));
    }
    arena_place(arena, block);
    trainer->allocations++;
    trainer->bytes += (int64_t)arena->bytes;
    return 0;
}

static void fill_tables(const PufferTrainer* trainer, CudaMatrix* matrices, CudaChunk* chunks) {
    int32_t found = 0;
    for (int m = 0; m < trainer->L + 2; m++) {
        const Matrix* matrix = &trainer->matrices[m];
        int64_t count = (int64_t)matrix->rows * matrix->cols;
        CudaMatrix* out = &matrices[m];
        *out = (CudaMatrix){.offset = matrix->offset,
                            .rows = matrix->rows,
                            .cols = matrix->cols,
                            .first_chunk = found};
        double ratio = (double)matrix->fan_out / matrix->fan_in;
        out->ratio = ratio > 1.0 ? __builtin_sqrt(ratio) : 1.0;
        for (int64_t at = 0; at < count; at += CUDA_CHUNK)
            chunks[found++] = (CudaChunk){
                .first = matrix->offset + at,
                .matrix = m,
                .count = (int32_t)(count - at < CUDA_CHUNK ? count - at : CUDA_CHUNK)};
        out->chunks = found - out->first_chunk;
    }
    if (trainer->heads.continuous)
        chunks[found] = (CudaChunk){
            .first = trainer->vectors, .matrix = -1, .count = trainer->heads.continuous};
}

static int32_t upload_tables(Rank* rank, Error* error) {
    const PufferTrainer* trainer = rank->trainer;
    size_t matrices = sizeof(CudaMatrix) * (size_t)(trainer->L + 2);
    size_t chunks = sizeof(CudaChunk) * (size_t)trainer->chunk_count;
    CudaMatrix* matrix = calloc(1, matrices);
    CudaChunk* chunk = calloc(1, chunks);
    int32_t failed = !matrix || !chunk;
    if (!failed) {
        fill_tables(trainer, matrix, chunk);
        stream_upload(rank->stream, rank->matrix_table, matrix, matrices);
        stream_upload(rank->stream, rank->chunk_table, chunk, chunks);
        stream_upload(rank->stream, rank->heads_there, &trainer->heads, sizeof(Heads));
        if (rank->obs_scale)
            stream_upload(rank->stream, rank->obs_scale, trainer->config.obs_scale,
                          sizeof(float) * (size_t)trainer->D);
        failed = stream_wait(rank->stream);
    }
    free(matrix);
    free(chunk);
    return failed ? device_failed(trainer, error) : 0;
}

static void list_tensors(PufferTrainer* trainer) {
    Tensors* tensors = &trainer->tensors;
    int dims = trainer->heads.continuous;
    float* all[] = {trainer->weights_here, trainer->momentum_here};
    for (int kind = PUFFER_WEIGHT; kind <= PUFFER_OPTIMIZER; kind++) {
        for (int m = 0; m < trainer->L + 2; m++) {
            Matrix* matrix = &trainer->matrices[m];
            tensors_matrix(tensors, kind == PUFFER_WEIGHT ? matrix->label : matrix->momentum_label,
                           kind, all[kind] + matrix->offset, matrix->fan_out, matrix->fan_in,
                           m == 0);
        }
        tensors_vector(tensors, kind == PUFFER_WEIGHT ? "logstd" : "adam.m.logstd", kind,
                       all[kind] + trainer->vectors, dims);
    }
    tensors_vector(tensors, "adam.v.logstd", PUFFER_OPTIMIZER, trainer->adam_v_here, dims);
}

static void plan_sizes(PufferTrainer* trainer) {
    const PufferTrainerConfig* config = &trainer->config;
    int32_t ranks = config->gpus;
    trainer->N = config->agents / ranks;
    trainer->slices = config->num_buffers / ranks;
    trainer->D = config->obs_size;
    trainer->H = config->hidden_size;
    trainer->L = config->num_layers;
    trainer->K = config->num_atns;
    trainer->A = trainer->heads.outputs;
    trainer->S = segments_per_minibatch(config) / ranks;
    trainer->M = config->minibatch_size / ranks;
    trainer->R = config->agents / config->num_buffers;
    trainer->final_slots = config->horizon < SHORT_ROLLOUT ? config->horizon
                                                           : config->horizon / FINAL_TICKS + 1;
    trainer->ldw = (int32_t)round_up(trainer->D, 8);
    trainer->ldo = (int32_t)round_up(trainer->A + 1, 8);
    trainer->narrow = config->precision == PUFFER_BF16;
    trainer->minibatches = (int32_t)minibatches_per_epoch(config) + 1;
}

static void plan_exchange(Rank* rank, Exchange* exchange, size_t bytes) {
    exchange->bytes = bytes;
    arena_add(&rank->memory, (void**)&exchange->all, bytes * (size_t)rank->trainer->config.gpus);
}

static void plan_rank(Rank* rank) {
    PufferTrainer* trainer = rank->trainer;
    rank->slices = trainer->all_slices + rank->number * trainer->slices;
    plan_weights(rank);
    ARENA_ADD(&rank->memory, rank->state, (int64_t)trainer->N * trainer->L * trainer->H);
    for (int turn = 0; turn <= trainer->config.async; turn++)
        plan_rollout(trainer, trainer->N, &rank->memory, &rank->rollouts[turn], turn == 0);
    if (trainer->config.has_final_obs) plan_finals(rank);
    for (int i = 0; i < trainer->slices; i++) plan_slice(rank, &rank->slices[i]);
    plan_batch(rank);
    if (trainer->config.gpus > 1) {
        plan_exchange(rank, &rank->totals, CUDA_TOTALS * sizeof(double));
        plan_exchange(rank, &rank->losses, KERNEL_LOSSES * sizeof(double));
        plan_exchange(rank, &rank->shares, (size_t)trainer->weight_count * sizeof(float));
    }
    ARENA_ADD(&rank->pinned, rank->schedules_here, trainer->minibatches);
    ARENA_ADD(&rank->pinned, rank->report_here, 1);
    ARENA_ADD(&rank->pinned, rank->first_tick, 1);
    ARENA_ADD(&rank->pinned, rank->picker.weights_here, trainer->N);
    if (rank != trainer->ranks) return;    // what callers see comes from the first
    ARENA_ADD(&rank->pinned, trainer->weights_here, trainer->weight_count);
    ARENA_ADD(&rank->pinned, trainer->momentum_here, trainer->weight_count);
    ARENA_ADD(&rank->pinned, trainer->adam_v_here, trainer->heads.continuous);
}

static int32_t take_rank(Rank* rank, Error* error) {
    PufferTrainer* trainer = rank->trainer;
    plan_rank(rank);
    if (arena_take(rank, &rank->memory, device_memory, error)
        || arena_take(rank, &rank->pinned, device_pinned, error))
        return -1;
    for (int i = 0; i < trainer->slices; i++) {
        lay_inbox(trainer, &rank->slices[i].here);
        lay_inbox(trainer, &rank->slices[i].there);
    }
    Rollout *first = &rank->rollouts[0], *second = &rank->rollouts[1];
    second->values_now = first->values_now;    // an update's own; one is under way at a time
    second->ratio_now = first->ratio_now;
    second->advantages = first->advantages;
    second->returns = first->returns;
    if (!trainer->config.async) {
        rank->acting = rank->weights;
        rank->acting_narrow = rank->weights_narrow;
    }
    return upload_tables(rank, error);
}

int32_t memory_take(PufferTrainer* trainer, Error* error) {
    plan_sizes(trainer);
    size_network(trainer);
    trainer->parts = gradient_parts(trainer->S, trainer->weight_count);
    if (check_sizes(trainer, error)) return -1;
    plan_host(trainer);
    if (arena_commit(&trainer->host))
        return fail_as(error, PUFFER_TRAINER_OUT_OF_MEMORY,
                       "the system cannot provide %lld MiB of memory",
                       (long long)(trainer->host.bytes >> 20));
    trainer->allocations++;
    EACH_RANK(trainer, rank)
        if (take_rank(rank, error)) return -1;
    list_tensors(trainer);
    return 0;
}

void memory_free(PufferTrainer* trainer) {
    free(trainer->rollout_block);
    EACH_RANK(trainer, rank) {
        free(rank->memory.spans);    // their blocks are the device's
        free(rank->pinned.spans);
        free(rank->env_memory.spans);
        free(rank->env_pinned.spans);
    }
    free(trainer->program_path);
    arena_free(&trainer->host);
}
