/* ppo.c -- the gradients of one minibatch.
 *
 * Segments are cut into chunks, a partial gradient each; workers take chunks and go through them
 * in blocks of whole segments, all layers forward and back, so that a block stays in cache. The
 * number of chunks depends only on sizes, and chunks are added in order: the same bits always. */
#include "internal.h"
#include <math.h>
#include <string.h>

#define FETCH_BYTES (128 << 10)    // that are asked for ahead of their use, at most

enum { ROW_KEEP, ROW_LOGPROB, ROW_VALUE, ROW_ADVANTAGE, ROW_RETURN, ROW_V, ROW_W, ROW_LIVE };

typedef struct {
    PufferTrainer* trainer;
    double ent_coef;
    double count;         // rows with an agent
    float mean, scale;    // A^ = importance (A - mean) scale
} Minibatch;

static int64_t obs_bytes(const PufferTrainer* trainer, int64_t rows) {
    return rows * obs_row_size(&trainer->policy);
}

static const void* segment_obs(const PufferTrainer* trainer, int32_t segment) {
    return (const uint8_t*)trainer->rollout.obs
           + obs_bytes(trainer, (int64_t)segment * trainer->config.horizon);
}

// What the loss needs of these segments, row by row: [segment][t]
static void gather(const Minibatch* batch, Workspace* work, int first, int count) {
    PufferTrainer* trainer = batch->trainer;
    const Rollout* rollout = &trainer->rollout;
    const Policy* policy = &trainer->policy;
    int64_t T = trainer->config.horizon, K = policy->K, A = policy->A;
    size_t bytes = sizeof(float) * (size_t)T;
    for (int s = 0; s < count; s++) {
        int32_t segment = trainer->picker.rows[first + s];
        float q = trainer->picker.importance[first + s];
        int64_t from = segment * T, to = s * T;
        const float* advantage = rollout->advantages + from;
        work->per_row[ROW_KEEP][to] = 1.0f;
        for (int64_t t = 1; t < T; t++)
            work->per_row[ROW_KEEP][to + t] = 1.0f - rollout->ended[from + t - 1];
        for (int64_t t = 0; t < T; t++)
            work->per_row[ROW_ADVANTAGE][to + t] = q
                                                   * ((advantage[t] - batch->mean) * batch->scale);
        memcpy(work->per_row[ROW_RETURN] + to, rollout->returns + from, bytes);
        memcpy(work->per_row[ROW_LOGPROB] + to, rollout->logprobs + from, bytes);
        memcpy(work->per_row[ROW_VALUE] + to, rollout->values + from, bytes);
        if (rollout->live) memcpy(work->per_row[ROW_LIVE] + to, rollout->live + from, bytes);
        memcpy(work->actions + to * K, rollout->actions + from * K, bytes * (size_t)K);
        if (rollout->masks) memcpy(work->mask + to * A, rollout->masks + from * A, (size_t)(T * A));
        const float* state0 = rollout->state0 + (int64_t)segment * policy->L * policy->H_padded;
        for (int l = 0; l < policy->L; l++) {
            const float** before = work->before + (int64_t)l * trainer->work_rows + to;
            memset(before, 0, sizeof *before * (size_t)T);
            before[0] = state0 + (int64_t)l * policy->H_padded;
        }
    }
}

// Observations to the last x. Returns whether bytes went the sparse way
static int forward(const Minibatch* batch, Workspace* work, int first, int count) {
    PufferTrainer* trainer = batch->trainer;
    const Policy* policy = &trainer->policy;
    int T = trainer->config.horizon, rows = count * T, sparse = reads_bytes(policy);
    for (int s = 0; s < count && sparse; s++)
        sparse = policy_find_bytes(policy, work, T, s * T,
                                   segment_obs(trainer, trainer->picker.rows[first + s]));
    for (int s = 0; s < count; s++)
        policy_encode(policy, work, T, segment_obs(trainer, trainer->picker.rows[first + s]),
                      work->x[0] + (int64_t)s * T * policy->ldx, sparse, s * T);
    mark(work, PHASE_TRAIN_ENCODE);
    for (int l = 0; l < policy->L; l++)
        policy->kernels->layer_scan(
            rows, policy->H, work->x[l], policy->ldx, policy->forward_weights[l],
            work->before + (int64_t)l * trainer->work_rows, work->per_row[ROW_KEEP], work->h[l],
            policy->H_padded, work->gates[l], policy->ldg, work->x[l + 1]);
    mark(work, PHASE_TRAIN_LAYERS);
    return sparse;
}

static void compute_loss(const Minibatch* batch, Workspace* work, int rows, float* gradient,
                         double* sums) {
    PufferTrainer* trainer = batch->trainer;
    const Policy* policy = &trainer->policy;
    const PufferTrainerConfig* config = &trainer->config;
    const Matrix* decoder = &trainer->matrices[policy->L + 1];
    int outputs = policy->A + 1, H_padded = policy->H_padded;
    policy_decode(policy, work, rows, work->x[policy->L]);
    LossArgs args = {.rows = rows,
                     .heads = &policy->heads,
                     .out = work->out,
                     .ldo = policy->A_padded,
                     .logstd = policy->logstd,
                     .mask = trainer->rollout.masks ? work->mask : NULL,
                     .actions = work->actions,
                     .logprob_old = work->per_row[ROW_LOGPROB],
                     .value_old = work->per_row[ROW_VALUE],
                     .advantage = work->per_row[ROW_ADVANTAGE],
                     .returns = work->per_row[ROW_RETURN],
                     .live = trainer->rollout.live ? work->per_row[ROW_LIVE] : NULL,
                     .clip_coef = (float)config->clip_coef,
                     .vf_coef = (float)config->vf_coef,
                     .vf_clip_coef = (float)config->vf_clip_coef,
                     .ent_coef = (float)batch->ent_coef,
                     .scale = 1.0f / (float)batch->count,
                     .dcolumns = work->columns,
                     .scratch = work->scratch,
                     .ld = trainer->columns_ld,
                     .values = work->per_row[ROW_V],
                     .ratio = work->per_row[ROW_W],
                     .dlogstd = gradient + trainer->chunk_size
                                - round_up(policy->heads.continuous, 16),
                     .sums = sums};
    policy->kernels->loss(&args);
    // the columns are the gradient transposed: a product with them reads them either way round
    policy->kernels->product_tn(rows, H_padded, outputs, work->columns, trainer->columns_ld,
                                policy->decoder_backward, H_padded, work->dx, policy->ldx, 0);
    policy->kernels->product_nn(outputs, H_padded, rows, work->columns, trainer->columns_ld,
                                work->x[policy->L], policy->ldx, gradient + decoder->chunk_offset,
                                H_padded, 1);
    mark(work, PHASE_LOSS);
}

static void backward(const Minibatch* batch, Workspace* work, int first, int count, int sparse,
                     float* gradient) {
    PufferTrainer* trainer = batch->trainer;
    const Policy* policy = &trainer->policy;
    const Kernels* kernels = policy->kernels;
    int T = trainer->config.horizon, rows = count * T, H_padded = policy->H_padded;
    for (int l = policy->L - 1; l >= 0; l--) {
        kernels->layer_scan_backward(rows, policy->H, work->x[l], policy->ldx,
                                     work->before + (int64_t)l * trainer->work_rows,
                                     work->per_row[ROW_KEEP], work->h[l], H_padded, work->gates[l],
                                     policy->ldg, work->dx, work->carry);
        mark(work, PHASE_SCAN);
        kernels->layer_dx(rows, H_padded, work->gates[l], policy->ldg, policy->backward_weights[l],
                          work->dx, policy->ldx);
        mark(work, PHASE_DX);
        kernels->product_tn(3 * H_padded, H_padded, rows, work->gates[l], policy->ldg, work->x[l],
                            policy->ldx, gradient + trainer->matrices[1 + l].chunk_offset, H_padded,
                            1);
        mark(work, PHASE_DW);
    }
    float* dencoder = gradient + trainer->matrices[0].chunk_offset;
    if (policy->seeing.count) seeing_begin_backward(policy, work, rows, dencoder);
    for (int s = 0; s < count; s++) {
        const void* seen = segment_obs(trainer, trainer->picker.rows[first + s]);
        if (policy->seeing.count) {
            seeing_backward(policy, work, T, seen, s * T, gradient);
            continue;
        }
        const float* dx = work->dx + (int64_t)s * T * policy->ldx;
        if (sparse) {
            for (int r = s * T; r < (s + 1) * T; r++, dx += policy->ldx)
                kernels->encode_sparse_backward(
                    work->starts[r + 1] - work->starts[r], work->where + work->starts[r],
                    work->what + work->starts[r], H_padded, dx, dencoder);
            continue;
        }
        const float* obs = seen;
        int ld = policy->D;
        if (policy->dtype != PUFFER_F32) {
            obs = work->wide_obs + (int64_t)s * T * policy->ldw;
            ld = policy->ldw;
        }
        kernels->product_tn(policy->D, H_padded, T, obs, ld, dx, policy->ldx, dencoder, H_padded,
                            1);
    }
    mark(work, PHASE_TRAIN_DENCODE);
}

// The rows' V and w from now on, which no other chunk of this minibatch reads. A segment that was
// picked twice is written once
static void store_values(const Minibatch* batch, const Workspace* work, int first, int count) {
    PufferTrainer* trainer = batch->trainer;
    int64_t T = trainer->config.horizon;
    size_t bytes = sizeof(float) * (size_t)T;
    for (int s = 0; s < count; s++) {
        if (trainer->picker.repeated[first + s]) continue;
        int64_t to = trainer->picker.rows[first + s] * T;
        memcpy(trainer->rollout.values_now + to, work->per_row[ROW_V] + s * T, bytes);
        memcpy(trainer->rollout.ratio_now + to, work->per_row[ROW_W] + s * T, bytes);
    }
}

// Asks for the observations of the next block, which lie anywhere in a large buffer
static void fetch_ahead(const PufferTrainer* trainer, int first, int last) {
    int64_t bytes = obs_bytes(trainer, trainer->config.horizon);
    if (last > first + trainer->segments_per_block) last = first + trainer->segments_per_block;
    if (bytes * (last - first) > FETCH_BYTES) return;
    for (int s = first; s < last; s++) {
        const char* obs = segment_obs(trainer, trainer->picker.rows[s]);
        for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(obs + at, 0, 2);
    }
}

static void run_chunk(void* about, int32_t chunk, int32_t worker) {
    const Minibatch* batch = about;
    PufferTrainer* trainer = batch->trainer;
    Workspace* work = &trainer->work[worker];
    float* gradient = trainer->chunks[chunk];
    double* sums = trainer->chunk_sums[chunk];
    int64_t S = trainer->segments, parts = trainer->chunk_count;
    int first = (int)(S * chunk / parts), last = (int)(S * (chunk + 1) / parts);
    work->since = clock_now();
    memset(gradient, 0, sizeof(float) * (size_t)trainer->chunk_size);
    memset(sums, 0, sizeof(double) * KERNEL_LOSSES);
    for (int at = first; at < last; at += trainer->segments_per_block) {
        int count = last - at < trainer->segments_per_block ? last - at
                                                            : trainer->segments_per_block;
        fetch_ahead(trainer, at + count, last);
        gather(batch, work, at, count);
        mark(work, PHASE_GATHER);
        int sparse = forward(batch, work, at, count);
        compute_loss(batch, work, count * trainer->config.horizon, gradient, sums);
        backward(batch, work, at, count, sparse, gradient);
        store_values(batch, work, at, count);
    }
}

void ppo_measure(const PufferTrainer* trainer, double totals[TOTALS]) {
    const Picker* picker = &trainer->picker;
    for (int i = 0; i < TOTALS; i++) totals[i] = 0.0;
    for (int32_t i = 0; i < trainer->segments; i++) {
        const double* segment = picker->sums[picker->rows[i]];
        totals[TOTAL_ROWS] += picker->ticks[picker->rows[i]];
        totals[TOTAL_A] += segment[0];
        totals[TOTAL_A2] += segment[1];
    }
}

void ppo_gradients(PufferTrainer* trainer, double ent_coef, double sums[KERNEL_LOSSES]) {
    const double* totals = trainer->totals;
    double rows = totals[TOTAL_ROWS], count = rows > 0.0 ? rows : 1.0;    // a replay may be empty
    Minibatch batch = {trainer, ent_coef, count, 0.0f, 1.0f};
    if (trainer->config.norm_adv) {
        double mean = totals[TOTAL_A] / count;
        double variance = totals[TOTAL_A2] / count - mean * mean;
        batch.mean = (float)mean;
        batch.scale = (float)(1.0 / (sqrt(variance > 0.0 ? variance : 0.0) + 1e-8));
    }
    pool_run(trainer->pool, run_chunk, &batch, trainer->chunk_count);
    for (int i = 0; i < KERNEL_LOSSES; i++) {
        sums[i] = 0.0;
        for (int32_t c = 0; c < trainer->chunk_count; c++) sums[i] += trainer->chunk_sums[c][i];
        sums[i] /= count;
    }
}
