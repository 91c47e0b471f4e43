/* policy.c -- the network: encoder, MinGRU layers with highways, one decoder for logits and value.
 *
 * Weights live as the optimiser wants them; products read packed copies, made again after each
 * step. The encoder is stored (D, H), the others (rows, H) as the field writes them. */
#include "internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void name_matrix(Matrix* matrix, const char* format, int number) {
    snprintf(matrix->label, sizeof matrix->label, format, number);
    snprintf(matrix->momentum_label, sizeof matrix->momentum_label, "muon.%s", matrix->label);
    matrix->name = matrix->label;
}

static void size_matrix(Matrix* matrix, int rows, int cols, int chunk_rows, int lanes) {
    matrix->chunk_cols = (int32_t)round_up(cols, 2 * lanes);
    matrix->rows = rows;
    matrix->cols = cols;
    matrix->fan_out = rows;
    matrix->fan_in = cols;
    matrix->tall = rows > cols ? rows : cols;
    matrix->wide = rows > cols ? cols : rows;
    matrix->padded = (int32_t)round_up(matrix->wide, 2 * lanes);
    matrix->ld = matrix->padded + (matrix->wide < 256 ? 0 : 16);    // an odd number of cache lines
    matrix->chunk_rows = chunk_rows;
}

// The field writes it down as (cols, rows)
static void size_transposed(Matrix* matrix, int rows, int cols, int lanes) {
    size_matrix(matrix, rows, cols, rows, lanes);
    matrix->fan_out = cols;
    matrix->fan_in = rows;
}

int32_t policy_init(Policy* policy, const PufferTrainerConfig* config, Matrix* matrices,
                    Error* error) {
    policy->kernels = kernels_find(config->path, config->precision == PUFFER_BF16);
    if (!policy->kernels && config->precision == PUFFER_BF16)
        return config->path == PUFFER_PATH_AUTO
                   ? fail_as(error, PUFFER_TRAINER_NO_BF16,
                             "this CPU has no bf16 products (they need AVX-512 BF16)")
                   : fail_as(error, PUFFER_TRAINER_NO_BF16,
                             "the '%s' kernels have no bf16 products",
                             puffer_trainer_path_name(config->path));
    if (!policy->kernels)
        return fail(error, "this CPU cannot run the '%s' kernels",
                    puffer_trainer_path_name(config->path));
    int lanes = policy->kernels->lanes;
    Heads* heads = &policy->heads;
    heads_init(heads, config);
    policy->dtype = config->obs_dtype;
    policy->D = config->obs_size;
    policy->H = config->hidden_size;
    policy->L = config->num_layers;
    policy->K = heads->count;
    policy->A = heads->outputs;
    policy->H_padded = (int32_t)round_up(policy->H, 2 * lanes);
    policy->A_padded = (int32_t)round_up(policy->A + 1, lanes);
    policy->ldx = policy->H_padded + 16;    // an odd number of cache lines apart
    policy->ldg = 3 * policy->H_padded + 16;
    policy->ldw = (int32_t)round_up(policy->D, 16) + 16;
    policy->matrices = matrices;
    if (seeing_init(policy, config, error)) return -1;
    policy->num_matrices = policy->L + 2 + policy->seeing.matrices;

    size_transposed(&matrices[0], policy->E, policy->H, lanes);
    name_matrix(&matrices[0], "encoder", 0);
    for (int l = 0; l < policy->L; l++) {
        size_matrix(&matrices[1 + l], 3 * policy->H, policy->H, 3 * policy->H_padded, lanes);
        name_matrix(&matrices[1 + l], "layers.%d", l);
    }
    size_matrix(&matrices[1 + policy->L], policy->A + 1, policy->H, policy->A + 1, lanes);
    name_matrix(&matrices[1 + policy->L], "decoder", 0);
    for (int p = 0; p < policy->seeing.count; p++)
        for (int l = 0; l < policy->seeing.parts[p].num_layers; l++) {
            const Convolution* layer = &policy->seeing.parts[p].layers[l];
            char format[32];
            snprintf(format, sizeof format, "parts.%d.%%d", p);
            size_transposed(&matrices[layer->matrix], layer->terms, layer->filters, lanes);
            name_matrix(&matrices[layer->matrix], format, l);
        }
    return 0;
}

void policy_start(PufferTrainer* trainer) {
    for (int m = 0; m < trainer->policy.num_matrices; m++) {
        Matrix* matrix = &trainer->matrices[m];
        matrix_start(matrix->weight, &trainer->config, m, matrix->fan_out, matrix->fan_in,
                     matrix->factors);
    }
}

// ---- packed copies ----------------------------------------------------------------------------

static void pack_layer(const Policy* policy, int l, int unit) {
    const float* weight = policy->matrices[1 + l].weight;
    int H = policy->H, lanes = policy->kernels->lanes, two = 2 * lanes;
    int units = H - unit < lanes ? H - unit : lanes;
    float* forward = policy->layer_forward[l] + (int64_t)unit * H * 3;
    float* backward = policy->layer_backward[l];
    for (int gate = 0; gate < 3; gate++)
        for (int i = 0; i < units; i++) {
            const float* row = weight + ((int64_t)gate * H + unit + i) * H;
            int64_t place = 3 * unit + gate * lanes + i;    // of the row among the gates
            for (int k = 0; k < H; k++) forward[(k * 3 + gate) * lanes + i] = row[k];
            for (int j = 0; j < H; j += two)
                memcpy(backward + (int64_t)j * 3 * policy->H_padded + place * two, row + j,
                       sizeof(float) * (size_t)(H - j < two ? H - j : two));
        }
}

static void pack_item(void* about, int32_t item, int32_t worker) {
    PufferTrainer* trainer = about;
    Policy* policy = &trainer->policy;
    int lanes = policy->kernels->lanes, per_layer = (policy->H + lanes - 1) / lanes;
    trainer->work[worker].since = clock_now();
    if (item == 0) {
        pack_panels(policy->matrices[0].weight, policy->E, policy->H, lanes,
                    policy->encoder_panels);
    } else if (item == 1) {
        const float* weight = policy->matrices[1 + policy->L].weight;
        for (int j = 0; j <= policy->A; j++) {
            const float* row = weight + (int64_t)j * policy->H;
            float* column = policy->decoder_forward + (int64_t)(j / lanes) * policy->H * lanes;
            memcpy(policy->decoder_backward + (int64_t)j * policy->H_padded, row,
                   sizeof(float) * (size_t)policy->H);
            for (int k = 0; k < policy->H; k++) column[(int64_t)k * lanes + j % lanes] = row[k];
        }
    } else if (item < 2 + policy->L * per_layer) {
        pack_layer(policy, (item - 2) / per_layer, (item - 2) % per_layer * lanes);
    } else {
        seeing_pack(policy, item - 2 - policy->L * per_layer);
    }
    mark(&trainer->work[worker], PHASE_PACK);
}

static void pair_layer(void* about, int32_t l, int32_t worker) {
    PufferTrainer* trainer = about;
    Policy* policy = &trainer->policy;
    int lanes = policy->kernels->lanes, H = policy->H, H_padded = policy->H_padded;
    trainer->work[worker].since = clock_now();
    for (int unit = 0; unit < H; unit += lanes)
        policy->kernels->pack_pairs(H, 3 * lanes, policy->layer_forward[l] + (int64_t)unit * H * 3,
                                    (uint32_t*)policy->pairs_forward[l]
                                        + (int64_t)unit * 3 * ((H + 1) / 2));
    for (int j = 0; j < H_padded; j += 2 * lanes)
        policy->kernels->pack_pairs(
            3 * H_padded, 2 * lanes, policy->layer_backward[l] + (int64_t)j * 3 * H_padded,
            (uint32_t*)policy->pairs_backward[l] + (int64_t)j * (3 * H_padded / 2));
    mark(&trainer->work[worker], PHASE_PACK);
}

void policy_pack(PufferTrainer* trainer) {
    int lanes = trainer->policy.kernels->lanes;
    int per_layer = (trainer->policy.H + lanes - 1) / lanes;
    pool_run(trainer->pool, pack_item, trainer,
             2 + trainer->policy.L * per_layer + seeing_pack_items(&trainer->policy));
    if (trainer->policy.kernels->pack_pairs)
        pool_run(trainer->pool, pair_layer, trainer, trainer->policy.L);
    trainer->stale = 0;
}

// ---- forward ----------------------------------------------------------------------------------

int policy_find_bytes(const Policy* policy, Workspace* work, int rows, int first_row,
                      const uint8_t* obs) {
    int D = policy->D;
    int32_t end = first_row ? work->starts[first_row] : 0;
    int64_t most = end + ((int64_t)rows * D - 1) / 4;    // below a quarter of all
    work->starts[first_row] = end;
    for (int r = 0; r < rows; r++, obs += D) {
        int found = policy->kernels->nonzero(D, obs, work->where + end);
        for (int i = 0; i < found; i++) work->what[end + i] = (float)obs[work->where[end + i]];
        end += found;
        work->starts[first_row + r + 1] = end;
        if (end > most) return 0;
    }
    return 1;
}

// Of bytes or ints; an int beyond 2^24 becomes the nearest float
static void widen_rows(const Policy* policy, int rows, const void* obs, float* out) {
    if (policy->dtype == PUFFER_U8) {
        policy->kernels->widen(rows, policy->D, obs, out, policy->ldw);
        return;
    }
    const int32_t* from = obs;
    for (int r = 0; r < rows; r++, from += policy->D, out += policy->ldw)
        for (int d = 0; d < policy->D; d++) out[d] = (float)from[d];
}

void policy_encode(const Policy* policy, Workspace* work, int rows, const void* obs, float* x,
                   int sparse, int first_row) {
    const Kernels* kernels = policy->kernels;
    if (sparse) {
        for (int r = 0; r < rows; r++) {
            int32_t start = work->starts[first_row + r];
            kernels->encode_sparse(work->starts[first_row + r + 1] - start, work->where + start,
                                   work->what + start, policy->D, policy->H_padded,
                                   policy->encoder_panels, x + (int64_t)r * policy->ldx);
        }
        return;
    }
    const float* wide = obs;
    int ld = policy->D;
    if (policy->seeing.count) {
        seeing_forward(policy, work, rows, obs, first_row);
        wide = work->seen + (int64_t)first_row * policy->lde;
        ld = policy->lde;
    } else if (policy->dtype != PUFFER_F32) {
        float* out = work->wide_obs + (int64_t)first_row * policy->ldw;
        widen_rows(policy, rows, obs, out);
        wide = out;
        ld = policy->ldw;
    }
    kernels->product_panels(rows, policy->H_padded, policy->E, wide, ld, policy->encoder_panels,
                            policy->E, x, policy->ldx, 0);
}

void policy_decode(const Policy* policy, Workspace* work, int rows, const float* x) {
    int lanes = policy->kernels->lanes;
    for (int j = 0; j < policy->A_padded; j += lanes)
        policy->kernels->product_narrow(rows, policy->H, x, policy->ldx,
                                        policy->decoder_forward + (int64_t)j * policy->H,
                                        work->out + j, policy->A_padded);
}

void policy_step(const Policy* policy, Workspace* work, int rows, const void* obs,
                 const float* state, float* new_state) {
    int lds = policy->L * policy->H_padded;
    int sparse = reads_bytes(policy) && policy_find_bytes(policy, work, rows, 0, obs);
    policy_encode(policy, work, rows, obs, work->x[0], sparse, 0);
    mark(work, PHASE_ENCODE);
    float *x = work->x[0], *other = work->x[1];
    for (int l = 0; l < policy->L; l++) {
        policy->kernels->layer_step(rows, policy->H, x, policy->ldx, policy->forward_weights[l],
                                    state + (int64_t)l * policy->H_padded,
                                    new_state ? new_state + (int64_t)l * policy->H_padded : NULL,
                                    lds, other);
        float* swap = x;
        x = other;
        other = swap;
    }
    mark(work, PHASE_LAYERS);
    policy_decode(policy, work, rows, x);
    mark(work, PHASE_DECODE);
}
