// The networks and layers of puffernet_layers.h behind plain functions, for tests/policy
#define PUFFERNET_LAYERS
#include "puffernet.h"

static inline void free_mingru_of(void* layer) { free_mingru((MinGRU*)layer); }

// A network over ticks. in (ticks, agents, cells) -> logits (ticks, agents, logits), values
// (ticks, agents), ids (ticks, agents, heads). sizes: what make_ is given after the agents.
// Returns the weights taken, or -1 where there is no network
#define NETWORK(name, Type, cells, logits_of, heads_of, ...)                                       \
    int run_##name(const char* file, int agents, const int* sizes, int ticks, const float* in,     \
                   float* logits, float* values, float* ids, int* whole) {                         \
        Weights* weights = load_weights(file);                                                     \
        Type* net = weights ? make_##name(weights, agents, __VA_ARGS__) : NULL;                    \
        int taken = net ? weights->idx : -1;                                                       \
        for (int t = 0; t < ticks; t++) {                                                          \
            size_t a = (size_t)agents, A = (size_t)(logits_of), K = (size_t)(heads_of);            \
            if (net) memcpy(net->obs, in + (size_t)t * a * (size_t)(cells), 4 * a * (size_t)(cells)); \
            forward_##name(net, net ? net->obs : in, ids + (size_t)t * a * K);                     \
            if (!net) break;                                                                       \
            memcpy(logits + (size_t)t * a * A, net->actor->output, 4 * a * A);                     \
            memcpy(values + (size_t)t * a, net->value_fn->output, 4 * a);                          \
            argmax_multidiscrete(net->multidiscrete, net->actor->output,                           \
                                 whole + (size_t)t * a * K);                                       \
        }                                                                                          \
        free_##name(net);                                                                          \
        free(weights);                                                                             \
        return taken;                                                                              \
    }
NETWORK(default, Default, sizes[0], sizes[2], 1, sizes[0], sizes[1], sizes[2])
NETWORK(linearlstm, LinearLSTM, sizes[0], puffernet_sum(sizes + 2, sizes[1]), sizes[1], sizes[0],
        sizes + 2, sizes[1])
NETWORK(convlstm, ConvLSTM, sizes[0] * sizes[0] * sizes[1], sizes[4], 1, sizes[0], sizes[1],
        sizes[2], sizes[3], sizes[4])

// One layer over rows: in -> out (of `room` floats). Returns the weights taken, or -1
int run_layer(const char* kind, const char* file, int rows, const int* s, const float* in,
              const float* other, float* out, int room) {
    Weights* weights = load_weights(file);
    if (!weights) return -1;
    size_t bytes = sizeof(float) * (size_t)room;
    int ids[64];
    for (int i = 0; i < 64 && i < rows * s[0]; i++) ids[i] = (int)in[i];
#define LAYER(name, make, call, result, drop)                                                      \
    if (!strcmp(kind, #name)) {                                                                    \
        void* layer = make;                                                                        \
        if (layer) {                                                                               \
            call;                                                                                  \
            memcpy(out, result, bytes);                                                            \
        }                                                                                          \
        drop(layer);                                                                               \
        int taken = layer ? weights->idx : -1;                                                     \
        free(weights);                                                                             \
        return taken;                                                                              \
    }
    LAYER(affine, make_affine(weights, rows, s[0], s[1]), affine((Affine*)layer, in),
          ((Affine*)layer)->output, free)
    LAYER(twice, make_affine(weights, rows, s[0], s[1]),
          (affine((Affine*)layer, in), affine_accumulate((Affine*)layer, in)),
          ((Affine*)layer)->output, free)
    LAYER(linear, make_linear(weights, rows, s[0], s[1]), linear((Linear*)layer, in),
          ((Linear*)layer)->output, free)
    LAYER(gelu, make_gelu(rows, s[0]), gelu((GELU*)layer, in), ((GELU*)layer)->output, free)
    LAYER(relu, make_relu(rows, s[0]), relu((ReLU*)layer, in), ((ReLU*)layer)->output, free)
    LAYER(layernorm, make_layernorm(weights, rows, s[0]), layernorm((LayerNorm*)layer, in),
          ((LayerNorm*)layer)->output, free)
    LAYER(cat, make_cat_dim1(rows, s[0], s[1]), cat_dim1((CatDim1*)layer, in, other),
          ((CatDim1*)layer)->output, free)
    LAYER(max, make_max_dim1(rows, s[0], s[1]), max_dim1((MaxDim1*)layer, in),
          ((MaxDim1*)layer)->output, free)
    LAYER(conv2d, make_conv2d(weights, rows, s[0], s[1], s[2], s[3], s[4], s[5]),
          conv2d((Conv2D*)layer, in), ((Conv2D*)layer)->output, free)
    LAYER(conv3d, make_conv3d(weights, rows, s[0], s[1], s[2], s[3], s[4], s[5], s[6]),
          conv3d((Conv3D*)layer, in), ((Conv3D*)layer)->output, free)
    LAYER(mingru, make_mingru(weights, rows, s[0], s[1]),
          (mingru((MinGRU*)layer, in), mingru((MinGRU*)layer, other)), ((MinGRU*)layer)->output,
          free_mingru_of)
    LAYER(embedding, make_embedding(weights, rows, s[1], s[2]), embedding((Embedding*)layer, ids),
          ((Embedding*)layer)->output, free)
    LAYER(one_hot, make_one_hot(rows, s[0], s[1]),
          (one_hot((OneHot*)layer, ids), one_hot((OneHot*)layer, ids)), ((OneHot*)layer)->output,
          free)
    free(weights);
    return -2;
}
