/* cuda_products.h -- matrix products: a shape -> a plan of cuBLASLt's, made once and kept.
 *
 * cuBLASLt reads columns where we write rows: our (m, n) is its (n, m). So it is asked for
 * D^T = op(B)^T op(A)^T: our B is its A, our A its B, and nothing is moved. C and D are laid out
 * alike, which is also what it wants where they are the same array.
 *
 * What a plan may do depends on how addresses are aligned, and those come with each call. There
 * are two: one for addresses on lines of 16 bytes (as far as rows are), one for any. Addresses
 * come from fixed places in blocks of 256 bytes, so a run always takes the same ones.
 */
#pragma once
#include "cuda_state.h"

#define PLANS_ASKED 8
#define LINE        16    // bytes that one thread loads at most

static int32_t width(const Product* product, int operand) {
    return operand < 2 && product->shape.narrow ? 2 : 4;
}

// What addresses must be multiples of, for rows and matrices to be so too: a power of two
static uint32_t line_of(int64_t row, int64_t stride, int32_t batch, int32_t bytes) {
    uint64_t steps = (uint64_t)row | (batch > 1 ? (uint64_t)stride : 0);
    uint32_t line = LINE;
    while (line > (uint32_t)bytes && steps * (uint64_t)bytes % line) line /= 2;
    return line;
}

// A GPU that is full lets cuBLASLt allocate nothing; what it lets begin fails likewise
static int32_t lt_fault(int status, int32_t other) {
    return status == LT_ALLOC_FAILED || status == LT_NOT_INITIALIZED ? DEVICE_OUT_OF_MEMORY : other;
}

static bool lt_agreed(Device* device, int status, const Product* product, const char* what) {
    const ProductShape* shape = &product->shape;
    if (status == 0) return true;
    fail_as(device, lt_fault(status, shape->narrow ? DEVICE_NO_BF16 : DEVICE_FAILED),
            "cuBLASLt refused the product %s (%d x %d x %d, %s), %s: %s", shape->label, shape->m,
            shape->n, shape->k, shape->narrow ? "bf16" : "fp32", what,
            device->lt.GetStatusName(status));
    return false;
}

static bool describe(Device* device, Product* product) {
    const LtLibrary* lt = &device->lt;
    const ProductShape* s = &product->shape;
    const int type = s->narrow ? LT_R_16BF : LT_R_32F;
    const int32_t first = s->transpose_b ? LT_OP_T : LT_OP_N;
    const int32_t second = s->transpose_a ? LT_OP_T : LT_OP_N;
    const struct {
        int type;
        int32_t rows, cols, ld;
        int64_t stride;
    } of[3] = {
        {type, s->transpose_b ? s->k : s->n, s->transpose_b ? s->n : s->k, s->ldb, s->stride_b},
        {type, s->transpose_a ? s->m : s->k, s->transpose_a ? s->k : s->m, s->lda, s->stride_a},
        {LT_R_32F, s->n, s->m, s->ldd, s->stride_d}};
    int status = lt->MatmulDescCreate(&product->desc, LT_COMPUTE_32F, LT_R_32F);
    if (!status)
        status = lt->MatmulDescSetAttribute(product->desc, LT_DESC_TRANSA, &first, sizeof first);
    if (!status)
        status = lt->MatmulDescSetAttribute(product->desc, LT_DESC_TRANSB, &second, sizeof second);
    for (int i = 0; i < 3 && !status; i++) {
        status = lt->MatrixLayoutCreate(&product->layouts[i], of[i].type, (uint64_t)of[i].rows,
                                        (uint64_t)of[i].cols, of[i].ld);
        if (status || s->batch == 1) continue;
        status = lt->MatrixLayoutSetAttribute(product->layouts[i], LT_LAYOUT_BATCH_COUNT, &s->batch,
                                              sizeof s->batch);
        if (!status)
            status = lt->MatrixLayoutSetAttribute(product->layouts[i], LT_LAYOUT_BATCH_STRIDE,
                                                  &of[i].stride, sizeof of[i].stride);
    }
    return lt_agreed(device, status, product, "its layout");
}

// The first that the heuristic offers of those that always give the same bits, and take C from
// where it may be
static bool choose(Device* device, const Product* product, Plan* plan, void* preference) {
    const LtLibrary* lt = &device->lt;
    LtHeuristic found[PLANS_ASKED];
    int count = 0;
    memset(found, 0, sizeof found);
    int status = lt->MatmulAlgoGetHeuristic(
        device->handle, product->desc, product->layouts[0], product->layouts[1],
        product->layouts[2], product->layouts[2], preference, PLANS_ASKED, found, &count);
    for (int i = 0; i < count && !status; i++) {
        uint32_t reduction = LT_REDUCTION_INPLACE;
        int32_t any_c = 0;
        size_t written;
        if (found[i].state || found[i].workspace > WORKSPACE
            || lt->MatmulAlgoConfigGetAttribute(&found[i].algorithm, LT_CONFIG_REDUCTION,
                                                &reduction, sizeof reduction, &written)
            || reduction == LT_REDUCTION_INPLACE
            || (product->shape.beside
                && (lt->MatmulAlgoCapGetAttribute(&found[i].algorithm, LT_CAP_OUT_OF_PLACE, &any_c,
                                                  sizeof any_c, &written)
                    || !any_c)))
            continue;
        plan->algorithm = found[i].algorithm;
        plan->usable = 1;
        return true;
    }
    return false;
}

static bool prepare(Device* device, Product* product) {
    const LtLibrary* lt = &device->lt;
    const ProductShape* s = &product->shape;
    const uint64_t workspace = WORKSPACE;
    const uint32_t reductions = LT_REDUCTION_COMPUTE_TYPE | LT_REDUCTION_OUTPUT_TYPE;
    const int32_t rows[3] = {s->ldb, s->lda, s->ldd};
    const int64_t strides[3] = {s->stride_b, s->stride_a, s->stride_d};
    int usable = 0;
    for (int p = 0; p < PLANS; p++) {
        Plan* plan = &product->plans[p];
        void* preference = NULL;
        for (int i = 0; i < 3; i++)
            plan->alignment[i] = p == PLAN_ANY
                                     ? (uint32_t)width(product, i)
                                     : line_of(rows[i], strides[i], s->batch, width(product, i));
        int status = lt->MatmulPreferenceCreate(&preference);
        if (!status)
            status = lt->MatmulPreferenceSetAttribute(preference, LT_PREF_WORKSPACE, &workspace,
                                                      sizeof workspace);
        if (!status)
            status = lt->MatmulPreferenceSetAttribute(preference, LT_PREF_REDUCTION_MASK,
                                                      &reductions, sizeof reductions);
        for (int i = 0; i < 4 && !status; i++)    // A, B, C, D: the last two alike
            status = lt->MatmulPreferenceSetAttribute(preference, LT_PREF_ALIGNMENT_A + i,
                                                      &plan->alignment[i < 3 ? i : 2],
                                                      sizeof plan->alignment[0]);
        if (!status) usable |= choose(device, product, plan, preference);
        if (preference) lt->MatmulPreferenceDestroy(preference);
        if (!lt_agreed(device, status, product, "its preferences")) return false;
    }
    if (!usable)
        fail_as(device, s->narrow ? DEVICE_NO_BF16 : DEVICE_FAILED,
                "cuBLASLt has no way to compute the product %s (%d x %d x %d, %s) that gives the "
                "same bits each time",
                s->label, s->m, s->n, s->k, s->narrow ? "bf16" : "fp32");
    return usable != 0;
}

// Counts together with others of its label
static ProductTally* tally_of(Device* device, const char* label) {
    for (ProductTally* found = device->tallies; found; found = found->next)
        if (!strcmp(found->tally.name, label)) return found;
    ProductTally* made = list(&device->tallies);
    if (made) made->tally.name = label;
    return made;
}

static void product_close(Device* device, Product* product) {
    for (int i = 0; i < 3; i++)
        if (product->layouts[i]) device->lt.MatrixLayoutDestroy(product->layouts[i]);
    if (product->desc) device->lt.MatmulDescDestroy(product->desc);
}

Product* product_open(Device* device, const ProductShape* shape) {
    if (!ready(device)) return NULL;
    Product* product = list(&device->products);
    if (!product) return no_memory(device, "a product"), nullptr;
    product->device = device;
    product->shape = *shape;
    if (!shape->label) product->shape.label = "without a name";
    product->tally = tally_of(device, product->shape.label);
    if (!product->tally) no_memory(device, "a product's tally");
    else if (describe(device, product) && prepare(device, product)) return product;
    product_close(device, product);
    return unlist(&device->products);
}

static const Plan* plan_for(const Product* product, const void* const operands[4]) {
    for (int p = 0; p < PLANS; p++) {
        const Plan* plan = &product->plans[p];
        int fits = plan->usable;
        for (int i = 0; i < 4; i++)
            fits = fits && (uintptr_t)operands[i] % plan->alignment[i < 3 ? i : 2] == 0;
        if (fits) return plan;
    }
    return NULL;
}

// cuBLASLt reads alpha and beta now: they are the host's
static void multiply(Stream* stream, const Product* product, float alpha, const void* A,
                     const void* B, float beta, const float* C, float* D) {
    Device* device = stream->device;
    const void* operands[4] = {B, A, C ? C : D, D};
    const Plan* plan = plan_for(product, operands);
    stream->last = product->shape.label;
    if (beta != 0 && C != D && !product->shape.beside) {
        fail(device, "the product %s adds to other memory than its own", product->shape.label);
        return;
    }
    if (!plan) {
        fail(device,
             "the product %s was given an address that its elements do not lie at, or "
             "cuBLASLt needs rows on lines of %d bytes for it",
             product->shape.label, LINE);
        return;
    }
    lt_agreed(device,
              device->lt.Matmul(device->handle, product->desc, &alpha, operands[0],
                                product->layouts[0], operands[1], product->layouts[1], &beta,
                                operands[2], product->layouts[2], D, product->layouts[2],
                                &plan->algorithm, stream->workspace, WORKSPACE, stream->stream),
              product, "a call");
}

static double product_flops(const ProductShape* s) { return 2.0 * s->m * s->n * s->k * s->batch; }

static double product_bytes(const Product* product, float beta) {
    const ProductShape* s = &product->shape;
    const double read = (double)width(product, 0) * ((double)s->m * s->k + (double)s->k * s->n);
    return s->batch * (read + (beta != 0 ? 8.0 : 4.0) * s->m * s->n);
}
