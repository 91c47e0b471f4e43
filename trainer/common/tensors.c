/* tensors.c -- the memory that callers may look at, by name. */
#include "shared.h"

static void add_tensor(Tensors* tensors, const char* name, int kind, int dtype, void* data,
                       int dims, const int64_t* shape, const int64_t* strides) {
    if (!data || tensors->count == MAX_TENSORS) return;
    PufferTrainerTensor* tensor = &tensors->items[tensors->count++];
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

void tensors_matrix(Tensors* tensors, const char* name, int kind, float* data, int fan_out,
                    int fan_in, int transposed) {
    int64_t shape[2] = {fan_out, fan_in}, along = sizeof(float);
    int64_t across = along * (transposed ? fan_out : fan_in);
    int64_t strides[2] = {transposed ? along : across, transposed ? across : along};
    add_tensor(tensors, name, kind, PUFFER_F32, data, 2, shape, strides);
}

void tensors_vector(Tensors* tensors, const char* name, int kind, float* data, int64_t count) {
    if (count) add_tensor(tensors, name, kind, PUFFER_F32, data, 1, &count, NULL);
}

void tensors_rollout(Tensors* tensors, const PufferTrainerConfig* config, int A, int H_padded,
                     float* state, const Rollout* rollout) {
    int64_t N = config->agents, T = config->horizon, L = config->num_layers;
    int64_t states[3] = {N, L, config->hidden_size},
            strides[3] = {4 * L * H_padded, 4 * (int64_t)H_padded, 4};
    add_tensor(tensors, "state", PUFFER_ROLLOUT, PUFFER_F32, state, 3, states, strides);
    if (!rollout) return;
    int64_t rows[3] = {N, T, config->obs_size};
    add_tensor(tensors, "obs", PUFFER_ROLLOUT, config->obs_dtype, rollout->obs, 3, rows, NULL);
    rows[2] = config->num_atns;
    add_tensor(tensors, "actions", PUFFER_ROLLOUT, PUFFER_F32, rollout->actions, 3, rows, NULL);
    add_tensor(tensors, "played", PUFFER_ROLLOUT, PUFFER_F32, rollout->played, 3, rows, NULL);
    rows[2] = A;
    add_tensor(tensors, "masks", PUFFER_ROLLOUT, PUFFER_U8, rollout->masks, 3, rows, NULL);
    struct {
        const char* name;
        float* data;
    } flat[] = {{"log_probs", rollout->logprobs},  {"values", rollout->values},
                {"rewards", rollout->rewards},     {"ended", rollout->ended},
                {"truncated", rollout->truncated}, {"final_values", rollout->final_values},
                {"live", rollout->live},           {"values_now", rollout->values_now},
                {"ratio_now", rollout->ratio_now}, {"advantages", rollout->advantages}};
    for (size_t i = 0; i < sizeof flat / sizeof *flat; i++)
        add_tensor(tensors, flat[i].name, PUFFER_ROLLOUT, PUFFER_F32, flat[i].data, 2, rows, NULL);
    add_tensor(tensors, "bootstrap", PUFFER_ROLLOUT, PUFFER_F32, rollout->bootstrap, 1, rows, NULL);
    add_tensor(tensors, "state0", PUFFER_ROLLOUT, PUFFER_F32, rollout->state0, 3, states, strides);
}
