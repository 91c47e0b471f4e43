/* blame.c -- numbers that went bad: the first tensor that holds one, and its place in it. */
#include "internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

// -1 and "LABEL went bad: nan at [1, 2] of [3, 4]\tWHERE" if a NaN or an infinity is there, else 0.
// `name` gives the shape; `data` lies as that tensor does, NULL for its own
static int32_t name_bad(const PufferTrainer* trainer, const char* name, const char* label,
                        const float* data, const char* where, char* error) {
    const PufferTrainerTensor *tensor = trainer->tensors, *end = tensor + trainer->tensor_count;
    while (tensor < end && strcmp(tensor->name, name)) tensor++;
    if (tensor == end || tensor->dtype != PUFFER_F32) return 0;
    const char* base = data ? (const char*)data : (const char*)tensor->data;
    int64_t at[PUFFER_TRAINER_DIMS] = {0}, count = 1;
    for (int d = 0; d < tensor->dims; d++) count *= tensor->shape[d];
    for (int64_t i = 0; i < count; i++) {
        int64_t offset = 0, rest = i;
        for (int d = tensor->dims - 1; d >= 0; d--) {
            at[d] = rest % tensor->shape[d];
            rest /= tensor->shape[d];
            offset += at[d] * tensor->strides[d];
        }
        float x = *(const float*)(base + offset);
        if (isfinite(x)) continue;
        char place[64] = "", shape[64] = "";
        for (int d = 0, p = 0, s = 0; d < tensor->dims; d++) {
            const char* comma = d ? ", " : "";
            p += snprintf(place + p, sizeof place - (size_t)p, "%s%lld", comma, (long long)at[d]);
            s += snprintf(shape + s, sizeof shape - (size_t)s, "%s%lld", comma,
                          (long long)tensor->shape[d]);
        }
        return fail(error, "%s went bad: %g at [%s] of [%s]\t%s", label, (double)x, place, shape,
                    where);
    }
    return 0;
}

int32_t blame_weights(const PufferTrainer* trainer, const char* where, char* error) {
    for (int32_t i = 0; i < trainer->tensor_count; i++) {
        const PufferTrainerTensor* tensor = &trainer->tensors[i];
        char label[64];
        snprintf(label, sizeof label, "weights of %s", tensor->name);
        if (tensor->kind == PUFFER_WEIGHT
            && name_bad(trainer, tensor->name, label, NULL, where, error))
            return -1;
    }
    return 0;
}

// In the order in which data passes: the first that is bad made the others so
int32_t blame_update(const PufferTrainer* trainer, char* error) {
    static const char* const before[][2] = {
        {"obs", "observations"}, {"state0", "recurrent state"}, {"actions", "actions"},
        {"rewards", "rewards"}, {"log_probs", "log-probabilities"}, {"values", "values"},
        {"bootstrap", "values of what comes next"}, {"advantages", "advantages"}};
    static const char* const after[][2] = {{"values_now", "values"}, {"ratio_now", "ratio"}};
    char where[32], label[64];
    snprintf(where, sizeof where, "epoch %lld", (long long)trainer->counters.epoch);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (name_bad(trainer, before[i][0], before[i][1], NULL, where, error)) return -1;
    if (blame_weights(trainer, where, error)) return -1;
    for (size_t i = 0; i < sizeof after / sizeof *after; i++)
        if (name_bad(trainer, after[i][0], after[i][1], NULL, where, error)) return -1;
    for (int m = trainer->policy.L + 1; m >= 0; m--) {      // backward: the decoder's comes first
        const Matrix* matrix = &trainer->matrices[m];
        snprintf(label, sizeof label, "gradient of %s", matrix->name);
        if (name_bad(trainer, matrix->name, label, matrix->gradient, where, error)) return -1;
    }
    return fail(error, "the loss or the gradient norm overflows\t%s", where);
}
