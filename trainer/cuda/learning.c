/* learning.c -- one minibatch: forward, loss, backward, and what Muon makes of the gradient.
 *
 * A layer goes over the whole minibatch before the next begins. Gradients of weights are made in
 * parts of whole segments, which are added in their order: many small products fill a GPU where
 * one long sum would not, and need no atomics. */
#include "internal.h"

static const float mu_steps[5][3] = {       // of Newton-Schulz: a X + (b G + c G G) X
    {4.0848f, -6.8946f, 2.9270f}, {3.9505f, -6.3029f, 2.6377f}, {3.7418f, -5.5913f, 2.3037f},
    {2.8769f, -3.1427f, 1.2046f}, {2.8366f, -3.0525f, 1.2012f}};

// ---- products ---------------------------------------------------------------------------------

static Product* forward_product(PufferTrainer* trainer, const char* label, int rows, int outputs,
                                int inputs, int lda, int ldb, int ldd, int transpose) {
    return product_open(trainer->device, &(ProductShape){
        .label = label, .m = rows, .n = outputs, .k = inputs, .transpose_b = transpose,
        .lda = lda, .ldb = ldb, .ldd = ldd, .batch = 1, .narrow = trainer->narrow});
}

// (rows, cols) = A^T B over the rows of a part, for all parts
static Product* gradient_product(PufferTrainer* trainer, const char* label, int rows, int cols,
                                 int lda, int ldb) {
    int part = trainer->M / trainer->parts;
    return product_open(trainer->device, &(ProductShape){
        .label = label, .m = rows, .n = cols, .k = part, .transpose_a = 1, .lda = lda, .ldb = ldb,
        .ldd = cols, .batch = trainer->parts, .stride_a = (int64_t)part * lda,
        .stride_b = (int64_t)part * ldb, .stride_d = trainer->weight_count,
        .narrow = trainer->narrow});
}

static int open_muon(PufferTrainer* trainer, MuonGroup* group) {
    const Matrix* first = &trainer->matrices[group->first];
    int rows = first->rows, cols = first->cols, side = group->tall ? cols : rows;
    int64_t each = round_up((int64_t)rows * cols, 16), square = (int64_t)side * side;
    Device* device = trainer->device;
    group->gram = product_open(device, &(ProductShape){
        .label = "muon gram", .m = side, .n = side, .k = group->tall ? rows : cols,
        .transpose_a = group->tall, .transpose_b = !group->tall, .lda = cols, .ldb = cols,
        .ldd = side, .batch = group->count, .stride_a = each, .stride_b = each,
        .stride_d = square});
    group->square = product_open(device, &(ProductShape){
        .label = "muon square", .m = side, .n = side, .k = side, .lda = side, .ldb = side,
        .ldd = side, .batch = group->count, .stride_a = square, .stride_b = square,
        .stride_d = square});
    group->apply = product_open(device, &(ProductShape){
        .label = "muon apply", .m = rows, .n = cols, .k = side, .lda = group->tall ? cols : side,
        .ldb = group->tall ? side : cols, .ldd = cols, .batch = group->count,
        .stride_a = group->tall ? each : square, .stride_b = group->tall ? square : each,
        .stride_d = each});
    group->done = event_open(device);
    group->stream = group == trainer->groups ? trainer->stream : stream_open(device);
    return group->gram && group->square && group->apply;
}

int32_t products_open(PufferTrainer* trainer, char* error) {
    int D = trainer->D, H = trainer->H, A1 = trainer->A + 1, M = trainer->M;
    int ldw = trainer->ldw, ldo = trainer->ldo, fine = 1;
    int rows[2] = {trainer->R, M};
    static const char* const labels[2][3] = {
        {"tick encoder", "tick layer", "tick decoder"}, {"encoder", "layer", "decoder"}};
    for (int train = 0; train < 2; train++) {
        Product** out[] = {train ? &trainer->train.encode : &trainer->tick.encode,
                           train ? &trainer->train.layer : &trainer->tick.layer,
                           train ? &trainer->train.decode : &trainer->tick.decode};
        const char* const* label = labels[train];
        *out[0] = forward_product(trainer, label[0], rows[train], H, D, ldw, H, H, 0);
        *out[1] = forward_product(trainer, label[1], rows[train], 3 * H, H, H, H, 3 * H, 1);
        *out[2] = forward_product(trainer, label[2], rows[train], A1, H, H, H, ldo, 1);
        for (int i = 0; i < 3; i++) fine &= *out[i] != NULL;
    }
    trainer->decoder_dw = gradient_product(trainer, "decoder dW", A1, H, ldo, H);
    trainer->layer_dw = gradient_product(trainer, "layer dW", 3 * H, H, 3 * H, H);
    trainer->encoder_dw = gradient_product(trainer, "encoder dW", D, H, ldw, H);
    trainer->decoder_dx = forward_product(trainer, "decoder dx", M, H, A1, ldo, H, H, 0);
    trainer->layer_dx = forward_product(trainer, "layer dx", M, H, 3 * H, 3 * H, H, H, 0);
    fine &= trainer->decoder_dw && trainer->layer_dw && trainer->encoder_dw
            && trainer->decoder_dx && trainer->layer_dx;
    for (int g = 0; g < MUON_GROUPS; g++) fine &= open_muon(trainer, &trainer->groups[g]);
    return fine ? 0 : device_failed(trainer, error);
}

// ---- forward and back -------------------------------------------------------------------------

static void narrow_rows(PufferTrainer* trainer, Stream* stream, const float* x, uint16_t* narrow) {
    int count = trainer->M * trainer->H;
    if (narrow)
        EACH(stream, floats_narrow, count, FloatsNarrowArgs, .count = count, .x = x,
             .narrow = narrow);
}

static void forward(PufferTrainer* trainer, Stream* stream, const Rollout* rollout) {
    const PufferTrainerConfig* config = &trainer->config;
    Buffers* batch = &trainer->batch;
    int S = trainer->S, T = config->horizon, H = trainer->H, L = trainer->L;
    EACH(stream, obs_gather, (int64_t)trainer->M * trainer->ldw, ObsGatherArgs, .S = S, .T = T,
         .D = trainer->D, .ldw = trainer->ldw, .obs_dtype = config->obs_dtype,
         .scale_obs = config->scale_obs && config->obs_dtype == PUFFER_U8, .rows = batch->rows,
         .obs = rollout->obs, .wide = batch->wide, .narrow = batch->narrow);
    stream_multiply(stream, trainer->train.encode, 1.0f, operand(batch->wide, batch->narrow),
                    layer_weights(trainer, 0, 0), 0.0f, NULL, batch->x[0]);
    narrow_rows(trainer, stream, batch->x[0], batch->x_narrow[0]);
    for (int l = 0; l < L; l++) {
        stream_multiply(stream, trainer->train.layer, 1.0f,
                        operand(batch->x[l], batch->x_narrow[l]),
                        layer_weights(trainer, 1 + l, 0), 0.0f, NULL, batch->products[l]);
        EACH(stream, scan_forward, (int64_t)S * H, ScanForwardArgs, .S = S, .T = T, .H = H,
             .stride = (int64_t)L * H, .rows = batch->rows, .ended = rollout->ended,
             .before = rollout->state0 + (int64_t)l * H, .products = batch->products[l],
             .x = batch->x[l], .h = batch->h[l], .out = batch->x[l + 1],
             .narrow = batch->x_narrow[l + 1]);
    }
    stream_multiply(stream, trainer->train.decode, 1.0f, operand(batch->x[L], batch->x_narrow[L]),
                    layer_weights(trainer, 1 + L, 0), 0.0f, NULL, batch->out);
}

static void judge(PufferTrainer* trainer, Stream* stream, const Rollout* rollout) {
    const PufferTrainerConfig* config = &trainer->config;
    Buffers* batch = &trainer->batch;
    int dims = trainer->heads.continuous, parts = (trainer->M + CUDA_ROWS - 1) / CUDA_ROWS;
    BLOCKS(stream, heads_loss, parts, HeadsLossArgs, .schedule = trainer->schedule,
        .verdict = &trainer->report->verdict, .heads = trainer->heads_there, .S = trainer->S,
        .T = config->horizon, .ldo = trainer->ldo, .rows = batch->rows, .q = batch->q,
        .repeated = batch->repeated, .out = batch->out,
        .logstd = trainer->weights + trainer->vectors, .masks = rollout->masks,
        .actions = rollout->actions, .logprobs = rollout->logprobs, .values = rollout->values,
        .advantages = rollout->advantages, .returns = rollout->returns,
        .clip_coef = (float)config->clip_coef, .vf_coef = (float)config->vf_coef,
        .vf_clip_coef = (float)config->vf_clip_coef, .values_now = rollout->values_now,
        .ratio_now = rollout->ratio_now, .dout = trainer->narrow ? NULL : batch->dout,
        .narrow = batch->dout_narrow, .slopes = batch->slopes, .parts = batch->loss_parts,
        .dlogstd_parts = batch->dlogstd_parts);
    BLOCKS(stream, columns_sum, KERNEL_LOSSES, ColumnsSumArgs, .parts_count = parts,
           .columns = KERNEL_LOSSES, .parts = batch->loss_parts, .sums = batch->losses);
    if (dims)
        BLOCKS(stream, columns_sum, dims, ColumnsSumArgs, .parts_count = parts, .columns = dims,
               .parts = batch->dlogstd_parts, .floats = trainer->gradients + trainer->vectors);
}

static void backward(PufferTrainer* trainer, Stream* stream, const Rollout* rollout) {
    Buffers* batch = &trainer->batch;
    int S = trainer->S, T = trainer->config.horizon, H = trainer->H, L = trainer->L;
    const void* dout = operand(batch->dout, batch->dout_narrow);
    float* parts = batch->gradient_parts;
    stream_multiply(stream, trainer->decoder_dw, 1.0f, dout,
                    operand(batch->x[L], batch->x_narrow[L]), 0.0f, NULL,
                    parts + trainer->matrices[1 + L].offset);
    stream_multiply(stream, trainer->decoder_dx, 1.0f, dout, layer_weights(trainer, 1 + L, 0),
                    0.0f, NULL, batch->dx);
    for (int l = L - 1; l >= 0; l--) {
        EACH(stream, scan_backward, (int64_t)S * H, ScanBackwardArgs, .S = S, .T = T, .H = H,
             .stride = (int64_t)L * H, .rows = batch->rows, .ended = rollout->ended,
             .before = rollout->state0 + (int64_t)l * H, .products = batch->products[l],
             .x = batch->x[l], .h = batch->h[l], .dx = batch->dx,
             .dproducts = trainer->narrow ? NULL : batch->products[l],
             .narrow = batch->dproducts_narrow);
        const void* dproducts = operand(batch->products[l], batch->dproducts_narrow);
        stream_multiply(stream, trainer->layer_dw, 1.0f, dproducts,
                        operand(batch->x[l], batch->x_narrow[l]), 0.0f, NULL,
                        parts + trainer->matrices[1 + l].offset);
        stream_multiply(stream, trainer->layer_dx, 1.0f, dproducts,
                        layer_weights(trainer, 1 + l, 0), 1.0f, batch->dx, batch->dx);
    }
    narrow_rows(trainer, stream, batch->dx, batch->dx_narrow);
    stream_multiply(stream, trainer->encoder_dw, 1.0f, operand(batch->wide, batch->narrow),
                    operand(batch->dx, batch->dx_narrow), 0.0f, NULL,
                    parts + trainer->matrices[0].offset);
    EACH(stream, parts_add, trainer->vectors, PartsAddArgs, .count = (int32_t)trainer->vectors,
         .parts = trainer->parts, .stride = trainer->weight_count, .source = parts,
         .sums = trainer->gradients);
}

// ---- the step ---------------------------------------------------------------------------------

// Newton-Schulz: X -> Y, five steps, in the group's own stream
static void orthogonalise(PufferTrainer* trainer, MuonGroup* group) {
    int64_t offset = trainer->matrices[group->first].offset;
    float *x = trainer->X + offset, *y = trainer->Y + offset;
    for (int i = 0; i < 5; i++) {
        const float* c = mu_steps[i];
        Stream* stream = group->stream;
        stream_multiply(stream, group->gram, 1.0f, x, x, 0.0f, NULL, group->G);
        stream_multiply(stream, group->square, c[2], group->G, group->G, c[1], group->G, group->P);
        if (group->tall)
            stream_multiply(stream, group->apply, 1.0f, x, group->P, c[0], x, y);
        else
            stream_multiply(stream, group->apply, 1.0f, group->P, x, c[0], x, y);
        float* swap = x;
        x = y;
        y = swap;
    }
}

static void step(PufferTrainer* trainer, Stream* stream) {
    const PufferTrainerConfig* config = &trainer->config;
    Buffers* batch = &trainer->batch;
    CudaVerdict* verdict = &trainer->report->verdict;
    int chunks = trainer->chunk_count, matrices = trainer->L + 2, dims = trainer->heads.continuous;
    BLOCKS(stream, squares_sum, chunks, SquaresSumArgs, .chunks = chunks,
           .chunk = trainer->chunk_table, .x = trainer->gradients, .parts = batch->squares);
    BLOCKS(stream, columns_sum, 1, ColumnsSumArgs, .parts_count = chunks, .columns = 1,
           .parts = batch->squares, .sums = batch->square);
    EACH(stream, update_decide, 1, UpdateDecideArgs, .rows = (double)trainer->M,
         .max_grad_norm = config->max_grad_norm, .squares = batch->square,
         .losses = batch->losses, .verdict = verdict);
    BLOCKS(stream, muon_momentum, chunks, MuonMomentumArgs, .verdict = verdict, .chunks = chunks,
           .mu = (float)config->beta1, .chunk = trainer->chunk_table,
           .gradient = trainer->gradients, .momentum = trainer->momentum,
           .update = trainer->update, .parts = batch->squares);
    BLOCKS(stream, muon_measure, matrices, MuonMeasureArgs, .matrices = matrices,
           .matrix = trainer->matrix_table, .parts = batch->squares, .factors = batch->factors);
    BLOCKS(stream, muon_normalise, chunks, MuonNormaliseArgs, .chunks = chunks,
           .chunk = trainer->chunk_table, .factors = batch->factors, .update = trainer->update,
           .wide = trainer->X);
    stream_mark(stream, trainer->fork);
    for (int g = 1; g < MUON_GROUPS; g++) stream_after(trainer->groups[g].stream, trainer->fork);
    for (int g = 0; g < MUON_GROUPS; g++) orthogonalise(trainer, &trainer->groups[g]);
    for (int g = 1; g < MUON_GROUPS; g++) {
        stream_mark(trainer->groups[g].stream, trainer->groups[g].done);
        stream_after(stream, trainer->groups[g].done);
    }
    BLOCKS(stream, muon_apply, chunks, MuonApplyArgs, .schedule = trainer->schedule,
           .verdict = verdict, .chunks = chunks, .chunk = trainer->chunk_table,
           .matrix = trainer->matrix_table, .X = trainer->Y, .weights = trainer->weights,
           .narrow = trainer->weights_narrow);
    if (dims)
        EACH(stream, adam_step, dims, AdamStepArgs, .schedule = trainer->schedule,
             .verdict = verdict, .count = dims, .beta2 = config->beta2, .eps = config->eps,
             .gradient = trainer->gradients + trainer->vectors,
             .m = trainer->momentum + trainer->vectors, .v = trainer->adam_v,
             .weights = trainer->weights + trainer->vectors);
}

static void learn_calls(PufferTrainer* trainer, Stream* stream, void* about) {
    const Rollout* rollout = about;
    forward(trainer, stream, rollout);
    judge(trainer, stream, rollout);
    backward(trainer, stream, rollout);
    step(trainer, stream);
}

void learn_minibatch(PufferTrainer* trainer, int turn) {
    run_recorded(trainer, trainer->stream, &trainer->learn[turn], learn_calls,
                 &trainer->rollouts[turn]);
}
