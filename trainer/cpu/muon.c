/* muon.c -- gradients become steps: matrices along their orthogonalised momentum, vectors by Adam.
 *
 * Every matrix is looked at upright, (tall, wide) with wide <= tall, so that G = X^T X is the
 * small square one: the steps of X and of its transpose are each other's transposes. */
#include "internal.h"
#include <math.h>
#include <string.h>

static int64_t elements(const Matrix* matrix) { return (int64_t)matrix->rows * matrix->cols; }

// ---- chunks to one gradient -------------------------------------------------------------------

// Rows [first, last) of a chunk's gradient, added over chunks, to their place in the matrix
static void reduce_rows(PufferTrainer* trainer, int m, int first, int last, float* sum) {
    const Policy* policy = &trainer->policy;
    Matrix* matrix = &trainer->matrices[m];
    int H = policy->H, cols = matrix->cols, lanes = policy->kernels->lanes,
        is_layer = m > 0 && m <= policy->L;
    for (int row = first; row < last; row++) {
        int target = row;
        if (is_layer) {    // interleaved by lanes: hid, gate, proj
            int unit = row / (3 * lanes) * lanes + row % lanes;
            if (unit >= H) continue;
            target = row / lanes % 3 * H + unit;
        }
        policy->kernels->add_up(matrix->chunk_cols, trainer->chunk_count,
                                (const float* const*)trainer->chunks,
                                matrix->chunk_offset + (int64_t)row * matrix->chunk_cols, sum);
        if (matrix->factors)    // as of observations times their factors
            for (int j = 0; j < cols; j++) sum[j] *= matrix->factors[row];
        memcpy(matrix->gradient + (int64_t)target * cols, sum, sizeof(float) * (size_t)cols);
    }
}

enum { REDUCE_ROWS = 32 };

static void reduce_item(void* about, int32_t item, int32_t worker) {
    PufferTrainer* trainer = about;
    trainer->work[worker].since = clock_now();
    for (int m = 0; m < trainer->policy.num_matrices; m++) {
        int rows = trainer->matrices[m].chunk_rows, items = (rows + REDUCE_ROWS - 1) / REDUCE_ROWS;
        if (item < items) {
            int first = item * REDUCE_ROWS, last = first + REDUCE_ROWS;
            reduce_rows(trainer, m, first, last < rows ? last : rows, trainer->work[worker].carry);
            break;
        }
        item -= items;
    }
    mark(&trainer->work[worker], PHASE_REDUCE);
}

static void norm_item(void* about, int32_t item, int32_t worker) {
    PufferTrainer* trainer = about;
    int64_t first = (int64_t)item * SLAB, left = trainer->weight_count - first;
    trainer->work[worker].since = clock_now();
    trainer->partial[item] = trainer->policy.kernels->square_sum(left < SLAB ? left : SLAB,
                                                                 trainer->all_gradients + first);
    mark(&trainer->work[worker], PHASE_REDUCE);
}

// The gradients lie in one piece; the sums travel after them, and the next minibatch's totals
static int32_t exchange_gradients(PufferTrainer* trainer, double sums[KERNEL_LOSSES],
                                  Error* error) {
    if (trainer->config.ranks < 2) return 0;
    float* tail = trainer->all_gradients + trainer->weight_count;
    for (int i = 0; i < KERNEL_LOSSES; i++) tail[i] = (float)sums[i];
    exchange_spread(trainer, trainer->totals, TOTALS, tail + KERNEL_LOSSES);
    if (exchange_floats(trainer, trainer->all_gradients,
                        trainer->weight_count + KERNEL_LOSSES + exchange_room(trainer, TOTALS),
                        error))
        return -1;
    for (int i = 0; i < KERNEL_LOSSES; i++) sums[i] = (double)tail[i];
    exchange_collect(trainer, tail + KERNEL_LOSSES, TOTALS, trainer->totals);
    return 0;
}

int32_t muon_reduce(PufferTrainer* trainer, double sums[KERNEL_LOSSES], double* norm,
                    Error* error) {
    int32_t items = 0, slabs = (int32_t)((trainer->weight_count + SLAB - 1) / SLAB);
    for (int m = 0; m < trainer->policy.num_matrices; m++)
        items += (trainer->matrices[m].chunk_rows + REDUCE_ROWS - 1) / REDUCE_ROWS;
    pool_run(trainer->pool, reduce_item, trainer, items);
    int vectors = trainer->policy.heads.continuous;
    float* tail = trainer->all_gradients + trainer->weight_count - round_up(vectors, 16);
    for (int i = 0; i < vectors; i++) {
        tail[i] = 0.0f;
        for (int c = 0; c < trainer->chunk_count; c++)
            tail[i] += trainer->chunks[c][trainer->chunk_size - round_up(vectors, 16) + i];
    }
    if (exchange_gradients(trainer, sums, error)) return -1;
    pool_run(trainer->pool, norm_item, trainer, slabs);
    double total = 0.0;
    for (int32_t i = 0; i < slabs; i++) total += trainer->partial[i];
    *norm = sqrt(total);
    return 0;
}

// ---- Muon -------------------------------------------------------------------------------------

typedef struct {
    PufferTrainer* trainer;
    double learning_rate;
    float scale;    // of gradients: their norm is clipped
    int step;       // of Newton and Schulz
    int stage;
} Step;

enum { MAKE_UPDATE, GRAM, POLYNOMIAL, ADVANCE, APPLY };

// u = Nesterov's update, and X = u / |u| upright
static void make_update(const Step* step, Matrix* matrix) {
    const Kernels* kernels = step->trainer->policy.kernels;
    kernels->nesterov(elements(matrix), (float)step->trainer->config.beta1, step->scale,
                      matrix->gradient, matrix->momentum, matrix->update);
    double norm = sqrt(kernels->square_sum(elements(matrix), matrix->update));
    float factor = (float)(1.0 / (norm > 1e-7 ? norm : 1e-7));
    int upright = matrix->rows >= matrix->cols;
    for (int i = 0; i < matrix->rows; i++)
        for (int j = 0; j < matrix->cols; j++) {
            float u = factor * matrix->update[(int64_t)i * matrix->cols + j];
            if (upright) matrix->X[(int64_t)i * matrix->ld + j] = u;
            else matrix->X[(int64_t)j * matrix->ld + i] = u;
        }
}

static void apply(const Step* step, Matrix* matrix) {
    double ratio = (double)matrix->fan_out / (double)matrix->fan_in;
    float base = (float)(-step->learning_rate * sqrt(ratio > 1.0 ? ratio : 1.0));
    const float* factors = matrix->factors;
    int upright = matrix->rows >= matrix->cols;
    for (int i = 0; i < matrix->rows; i++) {
        float* weight = matrix->weight + (int64_t)i * matrix->cols;
        float rate = factors ? base * factors[i] : base;
        if (upright) {
            step->trainer->policy.kernels->add_scaled(matrix->cols, rate,
                                                      matrix->X + (int64_t)i * matrix->ld, weight);
            continue;
        }
        for (int j = 0; j < matrix->cols; j++)
            weight[j] += rate * matrix->X[(int64_t)j * matrix->ld + i];
    }
}

// Rows of one item: whole tiles, and whole columns of tiles, for every instruction set
enum { MUON_ROWS = 96 };

// Below the diagonal block of these rows: the transpose of what they have right of it
static void mirror(const Matrix* matrix, int first, int last, float* square) {
    for (int j = last; j < matrix->wide; j++)
        for (int i = first; i < last; i++)
            square[(int64_t)j * matrix->ld + i] = square[(int64_t)i * matrix->ld + j];
}

// Rows [first, last) of one product of a Newton-Schulz step. G and P are symmetric, to the bit:
// both halves add the same products in the same order. So G^T G is G G, and a half is enough
static void advance_rows(const Step* step, Matrix* matrix, int stage, int first, int last) {
    static const float coefficients[MUON_STEPS][3] = MUON_COEFFICIENTS;
    const Kernels* kernels = step->trainer->policy.kernels;
    const float* c = coefficients[step->step];
    int ld = matrix->ld, rows = last - first, right = matrix->padded - first;
    int64_t at = (int64_t)first * ld;
    if (stage == GRAM) {
        kernels->product_tn(rows, right, matrix->tall, matrix->X + first, ld, matrix->X + first, ld,
                            matrix->G + at + first, ld, 0);
        mirror(matrix, first, last, matrix->G);
    } else if (stage == POLYNOMIAL) {
        kernels->product_tn(rows, right, matrix->wide, matrix->G + first, ld, matrix->G + first, ld,
                            matrix->P + at + first, ld, 0);
        kernels->muon_polynomial(rows, right, ld, c[0], c[1], c[2], matrix->G + at + first,
                                 matrix->P + at + first);
        mirror(matrix, first, last, matrix->P);
    } else {
        kernels->product_nn(rows, matrix->padded, matrix->wide, matrix->X + at, ld, matrix->P, ld,
                            matrix->Y + at, ld, 0);
    }
}

static int stage_rows(const Matrix* matrix, int stage) {
    return stage == ADVANCE ? matrix->tall : matrix->wide;
}

static int stage_items(const Matrix* matrix, int stage) {
    if (stage == MAKE_UPDATE || stage == APPLY) return 1;
    return (stage_rows(matrix, stage) + MUON_ROWS - 1) / MUON_ROWS;
}

static void stage_matrix(const Step* step, Matrix* matrix, int stage, int item) {
    int rows = stage_rows(matrix, stage), first = item * MUON_ROWS, last = first + MUON_ROWS;
    advance_rows(step, matrix, stage, first, last < rows ? last : rows);
}

static void swap_xy(Matrix* matrix) {
    float* swap = matrix->X;
    matrix->X = matrix->Y;
    matrix->Y = swap;
}

// Small matrices: one worker takes a matrix through all its steps
static void whole_matrix(void* about, int32_t item, int32_t worker) {
    Step step = *(const Step*)about;
    Matrix* matrix = &step.trainer->matrices[item];
    step.trainer->work[worker].since = clock_now();
    make_update(&step, matrix);
    for (step.step = 0; step.step < MUON_STEPS; step.step++) {
        for (int stage = GRAM; stage <= ADVANCE; stage++)
            for (int i = 0; i < stage_items(matrix, stage); i++)
                stage_matrix(&step, matrix, stage, i);
        swap_xy(matrix);
    }
    apply(&step, matrix);
    mark(&step.trainer->work[worker], PHASE_MUON);
}

static void stage_item(void* about, int32_t item, int32_t worker) {
    const Step* step = about;
    PufferTrainer* trainer = step->trainer;
    trainer->work[worker].since = clock_now();
    for (int m = 0; m < trainer->policy.num_matrices; m++) {
        Matrix* matrix = &trainer->matrices[m];
        int items = stage_items(matrix, step->stage);
        if (item >= items) {
            item -= items;
            continue;
        }
        if (step->stage == MAKE_UPDATE) make_update(step, matrix);
        else if (step->stage == APPLY) apply(step, matrix);
        else stage_matrix(step, matrix, step->stage, item);
        break;
    }
    mark(&trainer->work[worker], PHASE_MUON);
}

static void run_stage(Step* step, int stage) {
    int32_t items = 0;
    step->stage = stage;
    for (int m = 0; m < step->trainer->policy.num_matrices; m++)
        items += stage_items(&step->trainer->matrices[m], stage);
    pool_run(step->trainer->pool, stage_item, step, items);
}

static void adam(PufferTrainer* trainer, float scale, double rate) {
    const PufferTrainerConfig* config = &trainer->config;
    int count = trainer->policy.heads.continuous;
    const float* gradient = trainer->all_gradients + trainer->weight_count - round_up(count, 16);
    double steps = (double)trainer->counters.optimizer_steps;
    double first_bias = 1.0 - pow(0.9, steps), second_bias = 1.0 - pow(config->beta2, steps);
    for (int i = 0; i < count; i++) {
        double g = (double)(gradient[i] * scale);
        double m = (double)trainer->adam_m[i] + 0.1 * (g - (double)trainer->adam_m[i]);
        double v = config->beta2 * (double)trainer->adam_v[i] + (1.0 - config->beta2) * g * g;
        trainer->adam_m[i] = (float)m;
        trainer->adam_v[i] = (float)v;
        double deviation = sqrt(v / second_bias) + config->eps;
        trainer->policy.logstd[i] -= (float)(rate / first_bias * m / deviation);
    }
}

void muon_step(PufferTrainer* trainer, double learning_rate, double grad_norm) {
    double limit = trainer->config.max_grad_norm;
    Step step = {.trainer = trainer,
                 .learning_rate = learning_rate,
                 .scale = grad_norm > limit ? (float)(limit / grad_norm) : 1.0f};
    int small = 1;
    trainer->counters.optimizer_steps++;
    for (int m = 0; m < trainer->policy.num_matrices; m++) small &= trainer->matrices[m].wide <= 64;
    if (pool_threads(trainer->pool) == 1) small = 1;
    if (small) {
        pool_run(trainer->pool, whole_matrix, &step, trainer->policy.num_matrices);
    } else {
        run_stage(&step, MAKE_UPDATE);
        for (step.step = 0; step.step < MUON_STEPS; step.step++) {
            run_stage(&step, GRAM);
            run_stage(&step, POLYNOMIAL);
            run_stage(&step, ADVANCE);
            for (int m = 0; m < trainer->policy.num_matrices; m++) swap_xy(&trainer->matrices[m]);
        }
        run_stage(&step, APPLY);
    }
    adam(trainer, step.scale, learning_rate);
}
