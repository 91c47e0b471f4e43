/* faults.c -- NaN and infinity: the first tensor that holds one, and where. */
#include "shared.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static double unsigned_nan(double x) { return isnan(x) ? fabs(x) : x; }    // printf writes "-nan"

// What envs write; the trainer computed the rest
static int32_t kind_of(const char* name) {
    return !strcmp(name, "obs") || !strcmp(name, "rewards") ? PUFFER_TRAINER_BAD_ENV_DATA
                                                            : PUFFER_TRAINER_BAD_NUMBER;
}

// -1 and "LABEL not finite: nan at [1, 2] of [3, 4]\tWHERE" if it holds a NaN or an infinity, else 0.
// `name` gives the shape; `data` lies as that tensor does, NULL for its own
static int32_t name_bad(const Tensors* tensors, const char* name, const char* label,
                        const float* data, const char* where, Error* error) {
    const PufferTrainerTensor *tensor = tensors->items, *end = tensor + tensors->count;
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
        return fail_as(error, data ? PUFFER_TRAINER_BAD_NUMBER : kind_of(name),
                       "%s not finite: %g at [%s] of [%s]\t%s", label, unsigned_nan(x), place,
                       shape, where);
    }
    return 0;
}

int32_t fault_weights(const Tensors* tensors, const char* where, Error* error) {
    for (int32_t i = 0; i < tensors->count; i++) {
        const PufferTrainerTensor* tensor = &tensors->items[i];
        char label[64];
        snprintf(label, sizeof label, "weights of %s", tensor->name);
        if (tensor->kind == PUFFER_WEIGHT
            && name_bad(tensors, tensor->name, label, NULL, where, error))
            return -1;
    }
    return 0;
}

// In the order in which data passes: the first that is bad made the others so
int32_t fault_update(const Tensors* tensors, int matrices, const float* const* gradients,
                     int64_t epoch, Error* error) {
    static const char* const before[][2] = {{"obs", "observations"},
                                            {"state0", "recurrent state"},
                                            {"actions", "actions"},
                                            {"rewards", "rewards"},
                                            {"log_probs", "log-probabilities"},
                                            {"values", "values"},
                                            {"bootstrap", "values of what comes next"},
                                            {"final_values", "values of final observations"},
                                            {"advantages", "advantages"}};
    static const char* const after[][2] = {{"values_now", "values"}, {"ratio_now", "ratio"}};
    char where[32], label[64];
    snprintf(where, sizeof where, "epoch %lld", (long long)epoch);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (name_bad(tensors, before[i][0], before[i][1], NULL, where, error)) return -1;
    if (fault_weights(tensors, where, error)) return -1;
    for (size_t i = 0; i < sizeof after / sizeof *after; i++)
        if (name_bad(tensors, after[i][0], after[i][1], NULL, where, error)) return -1;
    for (int m = matrices - 1; m >= 0; m--) {    // backward: the decoder's comes first
        const char* name = tensors->items[m].name;
        snprintf(label, sizeof label, "gradient of %s", name);
        if (name_bad(tensors, name, label, gradients[m], where, error)) return -1;
    }
    return fail_as(error, PUFFER_TRAINER_OVERFLOW, "the loss or the gradient norm overflows\t%s",
                   where);
}

// ---- rollouts ---------------------------------------------------------------------------------

// The first NaN or infinity among n floats, or -1
static int64_t find_bad(const float* x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] - x[i] == 0.0f)) return i;
    return -1;
}

int32_t empty_head(const Heads* heads, const uint8_t* mask) {
    int head = 0;
    for (; head < heads->count; head++) {
        int any = heads->logstd_index[head] >= 0;
        for (int j = 0; j < heads->width[head]; j++) any |= mask[heads->column[head] + j];
        if (!any) break;
    }
    return head;
}

static int32_t fault_mask(const Heads* heads, const BadRow* bad, Error* error) {
    int head = empty_head(heads, bad->mask);
    fail_as(error, PUFFER_TRAINER_NO_LEGAL_ACTION,
            "agent %lld has no legal action in head %d"
            "\ttick %lld",
            (long long)bad->row, head, (long long)bad->tick);
    error->head = head;
    return -1;
}

// What an env wrote on a step: element -1 is a reward
static int32_t bad_data(Error* error, int64_t row, int64_t element, float value) {
    error->row = row;
    error->element = element;
    error->value = value;
    return -1;
}

int32_t fault_rollout(const Tensors* tensors, const PufferTrainerConfig* config, const Heads* heads,
                      const BadRow* bad, Error* error) {
    long long row = (long long)bad->row, tick = (long long)bad->tick, D = config->obs_size, at;
    if (bad->kind == BAD_MASK) return fault_mask(heads, bad, error);
    if (bad->kind == BAD_REWARD) {
        fail_as(error, PUFFER_TRAINER_BAD_ENV_DATA,
                "rewards not finite: %g at [%lld] of [%d]\ttick %lld", unsigned_nan(bad->reward),
                row, config->agents, tick);
        return bad_data(error, row, -1, bad->reward);
    }
    const float* obs = bad->obs;
    if (obs && config->obs_dtype == PUFFER_F32 && (at = find_bad(obs, D)) >= 0) {
        fail_as(error, PUFFER_TRAINER_BAD_ENV_DATA,
                "%sobservations not finite: %g at [%lld, %lld] of [%d, %lld]\ttick %lld",
                bad->final ? "final " : "", unsigned_nan(obs[at]), row, at, config->agents, D,
                tick);
        return bad_data(error, row, at, obs[at]);
    }
    char where[32];
    snprintf(where, sizeof where, "tick %lld", tick);
    if (fault_weights(tensors, where, error)) return -1;
    if (find_bad(bad->state, bad->state_size) >= 0)
        return fail_as(error, PUFFER_TRAINER_BAD_NUMBER,
                       "recurrent state not finite at agent %lld\ttick %lld", row, tick);
    return fail_as(error, PUFFER_TRAINER_BAD_NUMBER,
                   "logits or values not finite at agent %lld\ttick %lld", row, tick);
}
