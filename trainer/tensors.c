/* tensors.c -- the memory that callers may look at, by name. */
#include "internal.h"

static void add_tensor(PufferTrainer* trainer, const char* name, int kind, int dtype, void* data,
                       int dims, const int64_t* shape, const int64_t* strides) {
    if (!data || trainer->tensor_count == MAX_TENSORS) return;
    PufferTrainerTensor* tensor = &trainer->tensors[trainer->tensor_count++];
    tensor->name = name;
    tensor->kind = kind;
    tensor->dtype = dtype;
    tensor->data = data;
    tensor->dims = dims;
    int64_t step = dtype == PUFFER_U8 ? 1 : 4;
    for (int i = dims - 1; i >= 0; i--) {
        tensor->shape[i] = shape[i];
        tensor->strides[i] = strides ? strides[i] : step;
        step *= shape[i];
    }
}

static void list_matrix(PufferTrainer* trainer, Matrix* matrix, const char* name, int kind,
                        float* data) {
    int64_t shape[2] = {matrix->fan_out, matrix->fan_in};
    int64_t row = (int64_t)sizeof(float) * matrix->cols, strides[2] = {row, sizeof(float)};
    if (matrix == &trainer->matrices[0]) {          // stored transposed
        strides[0] = sizeof(float);
        strides[1] = row;
    }
    add_tensor(trainer, name, kind, PUFFER_F32, data, 2, shape, strides);
}

void list_tensors(PufferTrainer* trainer) {
    const PufferTrainerConfig* config = &trainer->config;
    const Policy* policy = &trainer->policy;
    Rollout* out = &trainer->rollout;
    for (int m = 0; m < policy->L + 2; m++)
        list_matrix(trainer, &trainer->matrices[m], trainer->matrices[m].label, PUFFER_WEIGHT,
                    trainer->matrices[m].weight);
    int64_t vector[1] = {policy->heads.continuous};
    if (vector[0])
        add_tensor(trainer, "logstd", PUFFER_WEIGHT, PUFFER_F32, policy->logstd, 1, vector, NULL);
    int64_t N = config->agents, T = config->horizon;
    int64_t states[3] = {N, policy->L, policy->H};
    int64_t strides[3] = {4 * (int64_t)policy->L * policy->Hp, 4 * (int64_t)policy->Hp, 4};
    add_tensor(trainer, "state", PUFFER_ROLLOUT, PUFFER_F32, trainer->state, 3, states, strides);
    if (!config->horizon) return;
    for (int m = 0; m < policy->L + 2; m++)
        list_matrix(trainer, &trainer->matrices[m], trainer->matrices[m].momentum_label,
                    PUFFER_OPTIMIZER, trainer->matrices[m].momentum);
    if (vector[0]) {
        add_tensor(trainer, "adam.m.logstd", PUFFER_OPTIMIZER, PUFFER_F32, trainer->adam_m, 1,
                   vector, NULL);
        add_tensor(trainer, "adam.v.logstd", PUFFER_OPTIMIZER, PUFFER_F32, trainer->adam_v, 1,
                   vector, NULL);
    }
    int64_t rows[3] = {N, T, policy->D};
    add_tensor(trainer, "obs", PUFFER_ROLLOUT, config->obs_dtype, out->obs, 3, rows, NULL);
    rows[2] = policy->K;
    add_tensor(trainer, "actions", PUFFER_ROLLOUT, PUFFER_F32, out->actions, 3, rows, NULL);
    rows[2] = policy->A;
    add_tensor(trainer, "masks", PUFFER_ROLLOUT, PUFFER_U8, out->masks, 3, rows, NULL);
    struct { const char* name; float* data; } flat[] = {
        {"log_probs", out->logprobs}, {"values", out->values}, {"rewards", out->rewards},
        {"ended", out->ended}, {"truncated", out->truncated}, {"values_now", out->values_now},
        {"ratio_now", out->ratio_now}, {"advantages", out->advantages}};
    for (size_t i = 0; i < sizeof flat / sizeof *flat; i++)
        add_tensor(trainer, flat[i].name, PUFFER_ROLLOUT, PUFFER_F32, flat[i].data, 2, rows, NULL);
    add_tensor(trainer, "bootstrap", PUFFER_ROLLOUT, PUFFER_F32, out->bootstrap, 1, rows, NULL);
    add_tensor(trainer, "state0", PUFFER_ROLLOUT, PUFFER_F32, out->state0, 3, states, strides);
}

int32_t puffer_trainer_tensor(PufferTrainer* trainer, int32_t index, PufferTrainerTensor* out) {
    if (index < 0 || index >= trainer->tensor_count) return 0;
    *out = trainer->tensors[index];
    return 1;
}
