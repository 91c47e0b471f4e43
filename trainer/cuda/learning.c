/* learning.c -- one minibatch: forward, loss, backward, and what Muon makes of the gradient.
 *
 * A layer goes over the whole minibatch before the next begins. Gradients of weights are made in
 * parts of whole segments, which are added in their order: many small products fill a GPU where
 * one long sum would not, and need no atomics. */
#include "internal.h"

static const float muon_steps[MUON_STEPS][3] = MUON_COEFFICIENTS;

// ---- products ---------------------------------------------------------------------------------

static Product* forward_product(Rank* rank, const char* label, int rows, int outputs, int inputs,
                                int lda, int ldb, int ldd, int transpose) {
    return product_open(rank->device, &(ProductShape){.label = label,
                                                      .m = rows,
                                                      .n = outputs,
                                                      .k = inputs,
                                                      .transpose_b = transpose,
                                                      .lda = lda,
                                                      .ldb = ldb,
                                                      .ldd = ldd,
                                                      .batch = 1,
                                                      .narrow = rank->trainer->narrow});
}

// (rows, cols) = A^T B over the rows of a part, for all parts
static Product* gradient_product(Rank* rank, const char* label, int rows, int cols, int lda,
                                 int ldb) {
    const PufferTrainer* trainer = rank->trainer;
    int part = trainer->M / trainer->parts;
    return product_open(rank->device, &(ProductShape){.label = label,
                                                      .m = rows,
                                                      .n = cols,
                                                      .k = part,
                                                      .transpose_a = 1,
                                                      .lda = lda,
                                                      .ldb = ldb,
                                                      .ldd = cols,
                                                      .batch = trainer->parts,
                                                      .stride_a = (int64_t)part * lda,
                                                      .stride_b = (int64_t)part * ldb,
                                                      .stride_d = trainer->weight_count,
                                                      .narrow = trainer->narrow});
}

static int open_muon(Rank* rank, MuonGroup* group) {
    const Matrix* first = &rank->trainer->matrices[group->first];
    int rows = first->rows, cols = first->cols, side = group->tall ? cols : rows;
    int64_t each = round_up((int64_t)rows * cols, 16), square = (int64_t)side * side;
    Device* device = rank->device;
    group->gram = product_open(device, &(ProductShape){.label = "muon gram",
                                                       .m = side,
                                                       .n = side,
                                                       .k = group->tall ? rows : cols,
                                                       .transpose_a = group->tall,
                                                       .transpose_b = !group->tall,
                                                       .lda = cols,
                                                       .ldb = cols,
                                                       .ldd = side,
                                                       .batch = group->count,
                                                       .stride_a = each,
                                                       .stride_b = each,
                                                       .stride_d = square});
    group->square = product_open(device, &(ProductShape){.label = "muon square",
                                                         .m = side,
                                                         .n = side,
                                                         .k = side,
                                                         .lda = side,
                                                         .ldb = side,
                                                         .ldd = side,
                                                         .batch = group->count,
                                                         .stride_a = square,
                                                         .stride_b = square,
                                                         .stride_d = square,
                                                         .beside = 1});
    group->apply = product_open(device, &(ProductShape){.label = "muon apply",
                                                        .m = rows,
                                                        .n = cols,
                                                        .k = side,
                                                        .lda = group->tall ? cols : side,
                                                        .ldb = group->tall ? side : cols,
                                                        .ldd = cols,
                                                        .batch = group->count,
                                                        .stride_a = group->tall ? each : square,
                                                        .stride_b = group->tall ? square : each,
                                                        .stride_d = each,
                                                        .beside = 1});
    group->done = event_open(device);
    group->stream = group == rank->groups ? rank->stream : stream_open(device);
    return group->gram && group->square && group->apply;
}

int32_t products_open(Rank* rank, Error* error) {
    const PufferTrainer* trainer = rank->trainer;
    int D = trainer->D, H = trainer->H, A1 = trainer->A + 1, M = trainer->M;
    int ldw = trainer->ldw, ldo = trainer->ldo, fine = 1;
    int rows[2] = {trainer->R, M};
    static const char* const labels[2][3] = {{"tick encoder", "tick layer", "tick decoder"},
                                             {"encoder", "layer", "decoder"}};
    for (int train = 0; train < 2; train++) {
        Product** out[] = {train ? &rank->train.encode : &rank->tick.encode,
                           train ? &rank->train.layer : &rank->tick.layer,
                           train ? &rank->train.decode : &rank->tick.decode};
        const char* const* label = labels[train];
        *out[0] = forward_product(rank, label[0], rows[train], H, D, ldw, H, H, 0);
        *out[1] = forward_product(rank, label[1], rows[train], 3 * H, H, H, H, 3 * H, 1);
        *out[2] = forward_product(rank, label[2], rows[train], A1, H, H, H, ldo, 1);
        for (int i = 0; i < 3; i++) fine &= *out[i] != NULL;
    }
    rank->decoder_dw = gradient_product(rank, "decoder dW", A1, H, ldo, H);
    rank->layer_dw = gradient_product(rank, "layer dW", 3 * H, H, 3 * H, H);
    rank->encoder_dw = gradient_product(rank, "encoder dW", D, H, ldw, H);
    rank->decoder_dx = forward_product(rank, "decoder dx", M, H, A1, ldo, H, H, 0);
    rank->layer_dx = forward_product(rank, "layer dx", M, H, 3 * H, 3 * H, H, H, 0);
    fine &= rank->decoder_dw && rank->layer_dw && rank->encoder_dw && rank->decoder_dx
            && rank->layer_dx;
    for (int g = 0; g < MUON_GROUPS; g++) fine &= open_muon(rank, &rank->groups[g]);
    return fine ? 0 : device_failed(trainer, error);
}

// ---- forward and back -------------------------------------------------------------------------

static void narrow_rows(const PufferTrainer* trainer, Stream* stream, const float* x,
                        uint16_t* narrow) {
    int count = trainer->M * trainer->H;
    if (narrow)
        EACH(stream, floats_narrow, count, FloatsNarrowArgs, .count = count, .x = x,
             .narrow = narrow);
}

static void forward(Rank* rank, Stream* stream, const Rollout* rollout) {
    const PufferTrainer* trainer = rank->trainer;
    const PufferTrainerConfig* config = &trainer->config;
    Buffers* batch = &rank->batch;
    int S = trainer->S, T = config->horizon, H = trainer->H, L = trainer->L;
    EACH(stream, obs_gather, (int64_t)trainer->M * trainer->ldw, ObsGatherArgs, .S = S, .T = T,
         .D = trainer->D, .ldw = trainer->ldw, .obs_dtype = config->obs_dtype, .rows = batch->rows,
         .obs = rollout->obs, .wide = batch->wide, .narrow = batch->narrow);
    stream_multiply(stream, rank->train.encode, 1.0f, operand(batch->wide, batch->narrow),
                    layer_weights(rank, 0, 0), 0.0f, NULL, batch->x[0]);
    narrow_rows(trainer, stream, batch->x[0], batch->x_narrow[0]);
    for (int l = 0; l < L; l++) {
        stream_multiply(stream, rank->train.layer, 1.0f, operand(batch->x[l], batch->x_narrow[l]),
                        layer_weights(rank, 1 + l, 0), 0.0f, NULL, batch->products[l]);
        EACH(stream, scan_forward, (int64_t)S * H, ScanForwardArgs, .S = S, .T = T, .H = H,
             .stride = (int64_t)L * H, .rows = batch->rows, .ended = rollout->ended,
             .before = rollout->state0 + (int64_t)l * H, .products = batch->products[l],
             .x = batch->x[l], .h = batch->h[l], .out = batch->x[l + 1],
             .narrow = batch->x_narrow[l + 1]);
    }
    stream_multiply(stream, rank->train.decode, 1.0f, operand(batch->x[L], batch->x_narrow[L]),
                    layer_weights(rank, 1 + L, 0), 0.0f, NULL, batch->out);
}

// Where this rank's gradients and losses go: among those of all ranks, if there are others
static float* own_gradients(const Rank* rank) {
    return rank->trainer->config.gpus > 1 ? exchange_own(rank, &rank->shares) : rank->gradients;
}

static double* own_losses(const Rank* rank) {
    return rank->trainer->config.gpus > 1 ? exchange_own(rank, &rank->losses) : rank->batch.losses;
}

static void compute_loss(Rank* rank, Stream* stream, const Rollout* rollout) {
    const PufferTrainer* trainer = rank->trainer;
    const PufferTrainerConfig* config = &trainer->config;
    Buffers* batch = &rank->batch;
    int dims = trainer->heads.continuous, parts = (trainer->M + CUDA_ROWS - 1) / CUDA_ROWS;
    BLOCKS(stream, heads_loss, parts, HeadsLossArgs, .schedule = rank->schedule,
           .results = &rank->report->results, .heads = rank->heads_there, .S = trainer->S,
           .T = config->horizon, .ldo = trainer->ldo, .rows = batch->rows,
           .importance = batch->importance, .repeated = batch->repeated, .out = batch->out,
           .logstd = rank->weights + trainer->vectors, .masks = rollout->masks,
           .actions = rollout->actions, .logprobs = rollout->logprobs, .values = rollout->values,
           .advantages = rollout->advantages, .returns = rollout->returns, .live = rollout->live,
           .clip_coef = (float)config->clip_coef, .vf_coef = (float)config->vf_coef,
           .vf_clip_coef = (float)config->vf_clip_coef, .values_now = rollout->values_now,
           .ratio_now = rollout->ratio_now, .dout = trainer->narrow ? NULL : batch->dout,
           .narrow = batch->dout_narrow, .slopes = batch->slopes, .parts = batch->loss_parts,
           .dlogstd_parts = batch->dlogstd_parts);
    BLOCKS(stream, columns_sum, KERNEL_LOSSES, ColumnsSumArgs, .parts_count = parts,
           .columns = KERNEL_LOSSES, .parts = batch->loss_parts, .sums = own_losses(rank));
    if (dims)
        BLOCKS(stream, columns_sum, dims, ColumnsSumArgs, .parts_count = parts, .columns = dims,
               .parts = batch->dlogstd_parts, .floats = own_gradients(rank) + trainer->vectors);
}

static void backward(Rank* rank, Stream* stream, const Rollout* rollout) {
    const PufferTrainer* trainer = rank->trainer;
    Buffers* batch = &rank->batch;
    int S = trainer->S, T = trainer->config.horizon, H = trainer->H, L = trainer->L;
    const void* dout = operand(batch->dout, batch->dout_narrow);
    float* parts = batch->gradient_parts;
    stream_multiply(stream, rank->decoder_dw, 1.0f, dout, operand(batch->x[L], batch->x_narrow[L]),
                    0.0f, NULL, parts + trainer->matrices[1 + L].offset);
    stream_multiply(stream, rank->decoder_dx, 1.0f, dout, layer_weights(rank, 1 + L, 0), 0.0f, NULL,
                    batch->dx);
    for (int l = L - 1; l >= 0; l--) {
        EACH(stream, scan_backward, (int64_t)S * H, ScanBackwardArgs, .S = S, .T = T, .H = H,
             .stride = (int64_t)L * H, .rows = batch->rows, .ended = rollout->ended,
             .before = rollout->state0 + (int64_t)l * H, .products = batch->products[l],
             .x = batch->x[l], .h = batch->h[l], .dx = batch->dx,
             .dproducts = trainer->narrow ? NULL : batch->products[l],
             .narrow = batch->dproducts_narrow);
        const void* dproducts = operand(batch->products[l], batch->dproducts_narrow);
        stream_multiply(stream, rank->layer_dw, 1.0f, dproducts,
                        operand(batch->x[l], batch->x_narrow[l]), 0.0f, NULL,
                        parts + trainer->matrices[1 + l].offset);
        stream_multiply(stream, rank->layer_dx, 1.0f, dproducts, layer_weights(rank, 1 + l, 0),
                        1.0f, batch->dx, batch->dx);
    }
    narrow_rows(trainer, stream, batch->dx, batch->dx_narrow);
    stream_multiply(stream, rank->encoder_dw, 1.0f, operand(batch->wide, batch->narrow),
                    operand(batch->dx, batch->dx_narrow), 0.0f, NULL,
                    parts + trainer->matrices[0].offset);
    EACH(stream, parts_add, trainer->vectors, PartsAddArgs, .count = (int32_t)trainer->vectors,
         .parts = trainer->parts, .D = trainer->D, .H = trainer->H, .stride = trainer->weight_count,
         .source = parts, .obs_scale = rank->obs_scale, .sums = own_gradients(rank));
}

// ---- the step ---------------------------------------------------------------------------------

// Newton-Schulz: X -> Y, five steps, in the group's own stream
static void orthogonalise(Rank* rank, MuonGroup* group) {
    int64_t offset = rank->trainer->matrices[group->first].offset;
    float *x = rank->X + offset, *y = rank->Y + offset;
    for (int i = 0; i < MUON_STEPS; i++) {
        const float* c = muon_steps[i];
        Stream* stream = group->stream;
        stream_multiply(stream, group->gram, 1.0f, x, x, 0.0f, NULL, group->G);
        stream_multiply(stream, group->square, c[2], group->G, group->G, c[1], group->G, group->P);
        if (group->tall) stream_multiply(stream, group->apply, 1.0f, x, group->P, c[0], x, y);
        else stream_multiply(stream, group->apply, 1.0f, group->P, x, c[0], x, y);
        float* swap = x;
        x = y;
        y = swap;
    }
}

// Each product once, over zeros: cuBLASLt loads its kernels here, not within the first rollout
void products_warm(Rank* rank) {
    const PufferTrainer* trainer = rank->trainer;
    Buffers* batch = &rank->batch;
    Slice* slice = rank->slices;
    Stream* stream = rank->stream;
    int last = 1 + trainer->L;
    const void *wide = operand(batch->wide, batch->narrow),
               *x = operand(batch->x[0], batch->x_narrow[0]);
    const void* dout = operand(batch->dout, batch->dout_narrow);
    const void* dproducts = operand(batch->products[0], batch->dproducts_narrow);
    const void* ticking = operand(slice->x, slice->x_narrow);
    float* parts = batch->gradient_parts;
    stream_multiply(stream, rank->tick.encode, 1.0f, operand(slice->wide, slice->narrow),
                    layer_weights(rank, 0, 1), 0.0f, NULL, slice->x);
    stream_multiply(stream, rank->tick.layer, 1.0f, ticking, layer_weights(rank, 1, 1), 0.0f, NULL,
                    slice->products);
    stream_multiply(stream, rank->tick.decode, 1.0f, ticking, layer_weights(rank, last, 1), 0.0f,
                    NULL, slice->out);
    stream_multiply(stream, rank->train.encode, 1.0f, wide, layer_weights(rank, 0, 0), 0.0f, NULL,
                    batch->x[0]);
    stream_multiply(stream, rank->train.layer, 1.0f, x, layer_weights(rank, 1, 0), 0.0f, NULL,
                    batch->products[0]);
    stream_multiply(stream, rank->train.decode, 1.0f, x, layer_weights(rank, last, 0), 0.0f, NULL,
                    batch->out);
    stream_multiply(stream, rank->decoder_dw, 1.0f, dout, x, 0.0f, NULL, parts);
    stream_multiply(stream, rank->decoder_dx, 1.0f, dout, layer_weights(rank, last, 0), 0.0f, NULL,
                    batch->dx);
    stream_multiply(stream, rank->layer_dw, 1.0f, dproducts, x, 0.0f, NULL, parts);
    stream_multiply(stream, rank->layer_dx, 1.0f, dproducts, layer_weights(rank, 1, 0), 1.0f,
                    batch->dx, batch->dx);
    stream_multiply(stream, rank->encoder_dw, 1.0f, wide, x, 0.0f, NULL, parts);
    for (int g = 0; g < MUON_GROUPS; g++) orthogonalise(rank, &rank->groups[g]);
}

static void step(Rank* rank, Stream* stream) {
    const PufferTrainer* trainer = rank->trainer;
    const PufferTrainerConfig* config = &trainer->config;
    Buffers* batch = &rank->batch;
    CudaResults* results = &rank->report->results;
    int chunks = trainer->chunk_count, matrices = trainer->L + 2, dims = trainer->heads.continuous;
    BLOCKS(stream, squares_sum, chunks, SquaresSumArgs, .chunks = chunks,
           .chunk = rank->chunk_table, .x = rank->gradients, .parts = batch->squares);
    BLOCKS(stream, columns_sum, 1, ColumnsSumArgs, .parts_count = chunks, .columns = 1,
           .parts = batch->squares, .sums = batch->square);
    EACH(stream, update_decide, 1, UpdateDecideArgs, .max_grad_norm = config->max_grad_norm,
         .squares = batch->square, .losses = batch->losses, .results = results);
    BLOCKS(stream, muon_momentum, chunks, MuonMomentumArgs, .results = results, .chunks = chunks,
           .mu = (float)config->beta1, .chunk = rank->chunk_table, .gradient = rank->gradients,
           .momentum = rank->momentum, .update = rank->update, .parts = batch->squares);
    BLOCKS(stream, muon_measure, matrices, MuonMeasureArgs, .matrices = matrices,
           .matrix = rank->matrix_table, .parts = batch->squares, .factors = batch->factors);
    BLOCKS(stream, muon_normalise, chunks, MuonNormaliseArgs, .chunks = chunks,
           .chunk = rank->chunk_table, .factors = batch->factors, .update = rank->update,
           .wide = rank->X);
    stream_mark(stream, rank->fork);
    for (int g = 1; g < MUON_GROUPS; g++) stream_after(rank->groups[g].stream, rank->fork);
    for (int g = 0; g < MUON_GROUPS; g++) orthogonalise(rank, &rank->groups[g]);
    for (int g = 1; g < MUON_GROUPS; g++) {
        stream_mark(rank->groups[g].stream, rank->groups[g].done);
        stream_after(stream, rank->groups[g].done);
    }
    BLOCKS(stream, muon_apply, chunks, MuonApplyArgs, .schedule = rank->schedule,
           .results = results, .chunks = chunks, .D = trainer->D, .H = trainer->H,
           .chunk = rank->chunk_table, .matrix = rank->matrix_table, .obs_scale = rank->obs_scale,
           .X = rank->Y, .weights = rank->weights, .narrow = rank->weights_narrow);
    if (dims)
        EACH(stream, adam_step, dims, AdamStepArgs, .schedule = rank->schedule, .results = results,
             .count = dims, .beta2 = config->beta2, .eps = config->eps,
             .gradient = rank->gradients + trainer->vectors, .m = rank->momentum + trainer->vectors,
             .v = rank->adam_v, .weights = rank->weights + trainer->vectors);
}

static void learn_calls(Rank* rank, Stream* stream, void* about) {
    const Rollout* rollout = about;
    forward(rank, stream, rollout);
    compute_loss(rank, stream, rollout);
    backward(rank, stream, rollout);
    step(rank, stream);
}

// ---- one minibatch of several ranks -----------------------------------------------------------

static void gradient_calls(Rank* rank, Stream* stream, void* about) {
    const PufferTrainerConfig* config = &rank->trainer->config;
    const Rollout* rollout = about;
    EACH(stream, ranks_measure, 1, RanksMeasureArgs, .ranks = config->gpus,
         .norm_adv = config->norm_adv, .totals = (const double*)rank->totals.all,
         .results = &rank->report->results);
    forward(rank, stream, rollout);
    compute_loss(rank, stream, rollout);
    backward(rank, stream, rollout);
}

static void step_calls(Rank* rank, Stream* stream, void* about) {
    const PufferTrainer* trainer = rank->trainer;
    int64_t count = trainer->weight_count;
    (void)about;
    EACH(stream, parts_add, count, PartsAddArgs, .count = (int32_t)count,
         .parts = trainer->config.gpus, .stride = count, .source = (const float*)rank->shares.all,
         .sums = rank->gradients);
    BLOCKS(stream, columns_sum, KERNEL_LOSSES, ColumnsSumArgs, .parts_count = trainer->config.gpus,
           .columns = KERNEL_LOSSES, .parts = (const double*)rank->losses.all,
           .sums = rank->batch.losses);
    step(rank, stream);
}

void learn_minibatch(PufferTrainer* trainer, int turn) {
    if (trainer->config.gpus == 1) {
        Rank* rank = trainer->ranks;
        run_recorded(rank, rank->stream, &rank->learn[turn], learn_calls, &rank->rollouts[turn]);
        return;
    }
    exchange_totals(trainer);
    EACH_RANK(trainer, rank)
        run_recorded(rank, rank->stream, &rank->learn[turn], gradient_calls, &rank->rollouts[turn]);
    exchange_gradients(trainer);
    EACH_RANK(trainer, rank) run_recorded(rank, rank->stream, &rank->step, step_calls, NULL);
}
