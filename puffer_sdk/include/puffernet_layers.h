/* puffernet_layers.h -- the layers and networks of PufferLib's puffernet.h, for demos that use them
 *
 * puffernet.h includes it where PUFFERNET_LAYERS is defined; `puffer-sdk build` defines it for
 * programs that call one of these functions. It has the names of PufferLib 4.0, and reads the
 * weights in the same order from the same flat files:
 *
 *     Weights* weights = load_weights("resources/snake/snake_weights.bin");
 *     int sizes[1] = {4};
 *     LinearLSTM* net = make_linearlstm(weights, agents, observation, sizes, 1);
 *     forward_linearlstm(net, net->obs, env.actions);          // float* or int*
 *     free_linearlstm(net);
 *
 *   networks     Default      encoder, ReLU, actor and value
 *                LinearLSTM   encoder to 128, GELU, LSTM of 128, actor and value
 *                ConvLSTM     two convolutions of an image of 11 x 11, linear, LSTM, actor and value
 *   layers       Affine (with bias), Linear (without), ReLU, GELU, Conv2D, Conv3D, LSTM, MinGRU,
 *                Embedding, LayerNorm, MaxDim1, OneHot, CatDim1, Multidiscrete
 *
 * A make_ function takes its weights from the file, one after the other, and gives NULL with a
 * sentence on stderr where the file has too few. Layers and networks that are NULL compute nothing,
 * and actions stay as they are. The arrays of a layer belong to it; its inputs are the caller's.
 *
 * PUFFERNET_LAYERS may be 3, for demos of PufferLib 3: there load_weights is told the number of
 * weights as well, a Linear has a bias, and no value follows an actor's logits. `build` defines it
 * so where load_weights is given two arguments.
 *
 * What differs from PufferLib: the rows of actions of several agents are those of the actor (there,
 * the second agent's begin one number too late); one_hot forgets the ids of the call before; draws
 * come from a generator of their own, multidiscrete->rng, so that a program repeats itself.
 */
#ifndef PUFFERNET_LAYERS_H
#define PUFFERNET_LAYERS_H

#define PUFFERNET_OF_3 (PUFFERNET_LAYERS + 0 == 3)

// ---- weights and memory -----------------------------------------------------------------------

// The next `count` numbers of the file; NULL and a sentence where it has fewer
static inline float* get_weights(Weights* weights, int count) {
    if (!weights) return NULL;
    if (count < 0 || count > weights->size - PUFFERNET_SPARE - weights->idx) {
        char sentence[120];
        snprintf(sentence, sizeof sentence,
                 "it has %d weights, and the program's network takes more",
                 weights->size - PUFFERNET_SPARE);
        puffernet_say(weights->name, sentence);
        return NULL;
    }
    float* data = weights->data + weights->idx;
    weights->idx += count;
    return data;
}

// The same; what comes next begins at a multiple of 8 numbers
static inline float* get_weights_aligned(Weights* weights, int count) {
    float* data = get_weights(weights, count);
    if (data) {
        int next = (int)puffernet_align((uint64_t)weights->idx),
            all = weights->size - PUFFERNET_SPARE;
        weights->idx = next < all ? next : all;
    }
    return data;
}

// A struct of zeros, with room for so many numbers behind it
static inline void* puffernet_layer(size_t bytes, long long numbers, float** room) {
    bytes = (bytes + 15) / 16 * 16;
    char* layer = numbers < 0 ? NULL : (char*)calloc(1, bytes + sizeof(float) * (size_t)numbers);
    if (layer) *room = (float*)(void*)(layer + bytes);
    return layer;
}

#define PUFFERNET_LAYER(Type, numbers)                                                             \
    float* room = NULL;                                                                            \
    Type* layer = (Type*)puffernet_layer(sizeof(Type), numbers, &room);                            \
    if (!layer) return NULL;                                                                       \
    layer->batch_size = batch_size

// The layer, if the file had all its weights
#define PUFFERNET_WITH(...)                                                                        \
    if (!(__VA_ARGS__)) {                                                                          \
        free(layer);                                                                               \
        return NULL;                                                                               \
    }                                                                                              \
    return layer

// ---- matrices ---------------------------------------------------------------------------------

typedef struct Affine {
    float *output, *weights, *bias;    // (batch, out), (out, in), (out)
    int batch_size, input_dim, output_dim;
} Affine;

typedef struct Linear {
    float *output, *weights;    // (batch, out), (out, in)
    int batch_size, input_dim, output_dim;
} Linear;

static inline Affine* make_affine(Weights* weights, int batch_size, int input_dim, int output_dim) {
    PUFFERNET_LAYER(Affine, (long long)batch_size * output_dim);
    layer->output = room;
    layer->input_dim = input_dim;
    layer->output_dim = output_dim;
    layer->weights = get_weights(weights, input_dim * output_dim);
    layer->bias = layer->weights ? get_weights(weights, output_dim) : NULL;
    PUFFERNET_WITH(layer->bias);
}

static inline Linear* make_linear(Weights* weights, int batch_size, int input_dim, int output_dim) {
    PUFFERNET_LAYER(Linear, (long long)batch_size * output_dim);
    layer->output = room;
    layer->input_dim = input_dim;
    layer->output_dim = output_dim;
    layer->weights = get_weights_aligned(weights, input_dim * output_dim);
    PUFFERNET_WITH(layer->weights);
}

static inline void linear(Linear* layer, const float* input) {
    if (!layer) return;
    for (int b = 0; b < layer->batch_size; b++)
        puffernet_product(layer->weights, input + (size_t)b * layer->input_dim,
                          layer->output + (size_t)b * layer->output_dim, layer->output_dim,
                          layer->input_dim);
}

static inline void puffernet_affine(Affine* layer, const float* input, int accumulate) {
    if (!layer) return;
    int rows = layer->output_dim;
    for (int b = 0; b < layer->batch_size; b++) {
        const float* x = input + (size_t)b * layer->input_dim;
        float* y = layer->output + (size_t)b * rows;
        for (int r = 0; r < rows; r++) {
            float sum;
            puffernet_product(layer->weights + (size_t)r * layer->input_dim, x, &sum, 1,
                              layer->input_dim);
            y[r] = (accumulate ? y[r] : 0.0f) + sum + layer->bias[r];
        }
    }
}

static inline void affine(Affine* layer, const float* input) { puffernet_affine(layer, input, 0); }

static inline void affine_accumulate(Affine* layer, const float* input) {
    puffernet_affine(layer, input, 1);
}

// ---- elementwise ------------------------------------------------------------------------------

typedef struct ReLU {
    float* output;    // (batch, in)
    int batch_size, input_dim;
} ReLU;

typedef ReLU GELU;

static inline ReLU* make_relu(int batch_size, int input_dim) {
    PUFFERNET_LAYER(ReLU, (long long)batch_size * input_dim);
    layer->output = room;
    layer->input_dim = input_dim;
    return layer;
}

static inline GELU* make_gelu(int batch_size, int input_dim) {
    return make_relu(batch_size, input_dim);
}

static inline void relu(ReLU* layer, const float* input) {
    for (int i = 0; layer && i < layer->batch_size * layer->input_dim; i++)
        layer->output[i] = input[i] > 0.0f ? input[i] : 0.0f;
}

static inline void gelu(GELU* layer, const float* input) {    // of the tanh
    for (int i = 0; layer && i < layer->batch_size * layer->input_dim; i++) {
        float x = input[i], inner = 0.79788456f * (x + 0.044715f * x * x * x);
        layer->output[i] = 0.5f * x * (1.0f + tanhf(inner));
    }
}

typedef struct LayerNorm {
    float *output, *weights, *bias;    // (batch, in), (in), (in)
    int batch_size, input_dim;
} LayerNorm;

static inline LayerNorm* make_layernorm(Weights* weights, int batch_size, int input_dim) {
    PUFFERNET_LAYER(LayerNorm, (long long)batch_size * input_dim);
    layer->output = room;
    layer->input_dim = input_dim;
    layer->weights = get_weights(weights, input_dim);
    layer->bias = layer->weights ? get_weights(weights, input_dim) : NULL;
    PUFFERNET_WITH(layer->bias);
}

static inline void layernorm(LayerNorm* layer, const float* input) {
    for (int b = 0; layer && b < layer->batch_size; b++) {
        int n = layer->input_dim;
        const float* x = input + (size_t)b * n;
        float *y = layer->output + (size_t)b * n, mean = 0, variance = 0;
        for (int i = 0; i < n; i++) mean += x[i] / (float)n;
        for (int i = 0; i < n; i++) variance += (x[i] - mean) * (x[i] - mean) / (float)n;
        float scale = 1.0f / sqrtf(variance + 1e-5f);
        for (int i = 0; i < n; i++)
            y[i] = (x[i] - mean) * scale * layer->weights[i] + layer->bias[i];
    }
}

// ---- of ids and of rows -----------------------------------------------------------------------

typedef struct Embedding {
    float *output, *weights;    // (batch, dim), (ids, dim)
    int batch_size, num_embeddings, embedding_dim;
} Embedding;

static inline Embedding* make_embedding(Weights* weights, int batch_size, int num_embeddings,
                                        int embedding_dim) {
    PUFFERNET_LAYER(Embedding, (long long)batch_size * embedding_dim);
    layer->output = room;
    layer->num_embeddings = num_embeddings;
    layer->embedding_dim = embedding_dim;
    layer->weights = get_weights(weights, num_embeddings * embedding_dim);
    PUFFERNET_WITH(layer->weights);
}

static inline void embedding(Embedding* layer, const int* input) {
    for (int b = 0; layer && b < layer->batch_size; b++)
        if (puffernet_in(input[b], 0, layer->num_embeddings - 1))
            memcpy(layer->output + (size_t)b * layer->embedding_dim,
                   layer->weights + (size_t)input[b] * layer->embedding_dim,
                   sizeof(float) * (size_t)layer->embedding_dim);
}

typedef struct OneHot {
    int* output;    // (batch, in, classes)
    int batch_size, input_size, num_classes;
} OneHot;

static inline OneHot* make_one_hot(int batch_size, int input_size, int num_classes) {
    PUFFERNET_LAYER(OneHot, (long long)batch_size * input_size * num_classes);
    layer->output = (int*)(void*)room;
    layer->input_size = input_size;
    layer->num_classes = num_classes;
    return layer;
}

static inline void one_hot(OneHot* layer, const int* input) {
    int count = layer ? layer->batch_size * layer->input_size : 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < layer->num_classes; k++)
            layer->output[i * layer->num_classes + k] = input[i] == k;
}

typedef struct CatDim1 {
    float* output;    // (batch, x + y)
    int batch_size, x_size, y_size;
} CatDim1;

static inline CatDim1* make_cat_dim1(int batch_size, int x_size, int y_size) {
    PUFFERNET_LAYER(CatDim1, (long long)batch_size * (x_size + y_size));
    layer->output = room;
    layer->x_size = x_size;
    layer->y_size = y_size;
    return layer;
}

static inline void cat_dim1(CatDim1* layer, const float* x, const float* y) {
    for (int b = 0; layer && b < layer->batch_size; b++) {
        float* row = layer->output + (size_t)b * (layer->x_size + layer->y_size);
        memcpy(row, x + (size_t)b * layer->x_size, sizeof(float) * (size_t)layer->x_size);
        memcpy(row + layer->x_size, y + (size_t)b * layer->y_size,
               sizeof(float) * (size_t)layer->y_size);
    }
}

typedef struct MaxDim1 {
    float* output;    // (batch, features): the most over the sequence
    int batch_size, seq_len, feature_dim;
} MaxDim1;

static inline MaxDim1* make_max_dim1(int batch_size, int seq_len, int feature_dim) {
    PUFFERNET_LAYER(MaxDim1, (long long)batch_size * feature_dim);
    layer->output = room;
    layer->seq_len = seq_len;
    layer->feature_dim = feature_dim;
    return layer;
}

static inline void max_dim1(MaxDim1* layer, const float* input) {
    for (int b = 0; layer && b < layer->batch_size; b++)
        for (int f = 0; f < layer->feature_dim; f++) {
            const float* first = input + (size_t)b * layer->seq_len * layer->feature_dim + f;
            float most = *first;
            for (int s = 1; s < layer->seq_len; s++)
                most = fmaxf(most, first[(size_t)s * layer->feature_dim]);
            layer->output[b * layer->feature_dim + f] = most;
        }
}

// ---- convolutions -----------------------------------------------------------------------------

typedef struct Conv3D {                // input (batch, in, depth, height, width), nothing around it
    float *output, *weights, *bias;    // output (batch, out, ...), weights (out, in, k, k, k)
    int batch_size, in_width, in_height, in_depth, in_channels, out_channels, kernel_size, stride;
} Conv3D;

typedef struct Conv2D {
    float *output, *weights, *bias;
    int batch_size, in_width, in_height, in_channels, out_channels, kernel_size, stride;
} Conv2D;

static inline int puffernet_places(int size, int kernel, int stride) {
    return size < kernel ? 0 : (size - kernel) / stride + 1;
}

static inline Conv3D* make_conv3d(Weights* weights, int batch_size, int in_width, int in_height,
                                  int in_depth, int in_channels, int out_channels, int kernel_size,
                                  int stride) {
    if (stride < 1 || kernel_size < 1) return NULL;
    PUFFERNET_LAYER(Conv3D, (long long)batch_size * out_channels * in_depth * in_height * in_width);
    layer->output = room;
    layer->in_width = in_width;
    layer->in_height = in_height;
    layer->in_depth = in_depth;
    layer->in_channels = in_channels;
    layer->out_channels = out_channels;
    layer->kernel_size = kernel_size;
    layer->stride = stride;
    int cube = kernel_size * kernel_size * kernel_size;
    layer->weights = get_weights(weights, out_channels * in_channels * cube);
    layer->bias = layer->weights ? get_weights(weights, out_channels) : NULL;
    PUFFERNET_WITH(layer->bias);
}

static inline Conv2D* make_conv2d(Weights* weights, int batch_size, int in_width, int in_height,
                                  int in_channels, int out_channels, int kernel_size, int stride) {
    if (stride < 1 || kernel_size < 1) return NULL;
    PUFFERNET_LAYER(Conv2D, (long long)batch_size * out_channels * in_height * in_width);
    layer->output = room;
    layer->in_width = in_width;
    layer->in_height = in_height;
    layer->in_channels = in_channels;
    layer->out_channels = out_channels;
    layer->kernel_size = kernel_size;
    layer->stride = stride;
    int square = kernel_size * kernel_size;
    layer->weights = get_weights(weights, out_channels * in_channels * square);
    layer->bias = layer->weights ? get_weights(weights, out_channels) : NULL;
    PUFFERNET_WITH(layer->bias);
}

// deep: the kernel's size in the third direction; 1 for an image, which is one deep
static inline void puffernet_convolve(const float* input, const Conv3D* c, int deep) {
    int k = c->kernel_size, W = c->in_width, H = c->in_height, D = c->in_depth;
    int out_d = deep == 1 ? D : puffernet_places(D, deep, c->stride);
    int out_h = puffernet_places(H, k, c->stride), out_w = puffernet_places(W, k, c->stride);
    int step_d = deep == 1 ? 1 : c->stride;
    float* out = c->output;
    for (int b = 0; b < c->batch_size; b++)
        for (int o = 0; o < c->out_channels; o++)
            for (int d = 0; d < out_d; d++)
                for (int h = 0; h < out_h; h++)
                    for (int w = 0; w < out_w; w++) {
                        float sum = c->bias[o];
                        for (int i = 0; i < c->in_channels; i++)
                            for (int z = 0; z < deep; z++)
                                for (int y = 0; y < k; y++) {
                                    size_t plane = (size_t)(b * c->in_channels + i) * (size_t)D;
                                    size_t row = (plane + (size_t)(d * step_d + z)) * (size_t)H
                                                 + (size_t)(h * c->stride + y);
                                    size_t at = (size_t)((o * c->in_channels + i) * deep + z);
                                    const float* x = input + row * (size_t)W + w * c->stride;
                                    const float* weights = c->weights + (at * (size_t)k + y) * k;
                                    for (int n = 0; n < k; n++) sum += x[n] * weights[n];
                                }
                        *out++ = sum;
                    }
}

static inline void conv3d(Conv3D* layer, const float* input) {
    if (layer) puffernet_convolve(input, layer, layer->kernel_size);
}

static inline void conv2d(Conv2D* layer, const float* input) {
    if (!layer) return;
    Conv3D flat;
    flat.output = layer->output;
    flat.weights = layer->weights;
    flat.bias = layer->bias;
    flat.batch_size = layer->batch_size;
    flat.in_width = layer->in_width;
    flat.in_height = layer->in_height;
    flat.in_depth = 1;
    flat.in_channels = layer->in_channels;
    flat.out_channels = layer->out_channels;
    flat.kernel_size = layer->kernel_size;
    flat.stride = layer->stride;
    puffernet_convolve(input, &flat, 1);
}

// ---- memory -----------------------------------------------------------------------------------

typedef struct LSTM {
    float *state_h, *state_c;    // (batch, hidden)
    float *weights_input, *weights_state, *bias_input, *bias_state;
    float* buffer;    // (4 hidden): of one row, input, forget, cell, output
    int batch_size, input_size, hidden_size;
} LSTM;

static inline LSTM* make_lstm(Weights* weights, int batch_size, int input_size, int hidden_size) {
    long long states = (long long)batch_size * hidden_size;
    PUFFERNET_LAYER(LSTM, 2 * states + 4LL * hidden_size);
    layer->state_h = room;
    layer->state_c = room + states;
    layer->buffer = room + 2 * states;
    layer->input_size = input_size;
    layer->hidden_size = hidden_size;
    int gates = 4 * hidden_size;
    layer->weights_input = get_weights(weights, gates * input_size);
    layer->weights_state = layer->weights_input ? get_weights(weights, gates * hidden_size) : NULL;
    layer->bias_input = layer->weights_state ? get_weights(weights, gates) : NULL;
    layer->bias_state = layer->bias_input ? get_weights(weights, gates) : NULL;
    PUFFERNET_WITH(layer->bias_state);
}

static inline void lstm(LSTM* layer, const float* input) {
    for (int b = 0; layer && b < layer->batch_size; b++) {
        int H = layer->hidden_size;
        const float* x = input + (size_t)b * layer->input_size;
        float *h = layer->state_h + (size_t)b * H, *c = layer->state_c + (size_t)b * H;
        float* gates = layer->buffer;
        for (int r = 0; r < 4 * H; r++) {
            float of_input, of_state;
            puffernet_product(layer->weights_input + (size_t)r * layer->input_size, x, &of_input, 1,
                              layer->input_size);
            puffernet_product(layer->weights_state + (size_t)r * H, h, &of_state, 1, H);
            gates[r] = of_input + layer->bias_input[r] + of_state + layer->bias_state[r];
        }
        for (int i = 0; i < H; i++) {
            float cell = puffernet_sigmoid(gates[i]) * tanhf(gates[2 * H + i]);
            c[i] = puffernet_sigmoid(gates[H + i]) * c[i] + cell;
            h[i] = puffernet_sigmoid(gates[3 * H + i]) * tanhf(c[i]);
        }
    }
}

static inline void free_mingru(MinGRU* layer) {
    if (!layer) return;
    for (int l = 0; layer->proj && l < layer->num_layers; l++) free(layer->proj[l]);
    free(layer->proj);
    free(layer->state);
    free(layer->output);
    free(layer);
}

static inline MinGRU* make_mingru(Weights* weights, int batch_size, int hidden_size,
                                  int num_layers) {
    MinGRU* layer = (MinGRU*)calloc(1, sizeof(MinGRU));
    if (!layer) return NULL;
    size_t cells = (size_t)batch_size * (size_t)hidden_size;
    layer->batch_size = batch_size;
    layer->hidden_size = hidden_size;
    layer->state = (float*)calloc(cells * (size_t)num_layers + 1, sizeof(float));
    layer->output = (float*)calloc(cells + 1, sizeof(float));
    layer->proj = (Linear**)calloc((size_t)num_layers + 1, sizeof(Linear*));
    int whole = layer->state && layer->output && layer->proj;
    while (whole && layer->num_layers < num_layers) {
        Linear* made = make_linear(weights, batch_size, hidden_size, 3 * hidden_size);
        layer->proj[layer->num_layers++] = made;
        whole = made != NULL;
    }
    if (whole) return layer;
    free_mingru(layer);
    return NULL;
}

static inline void mingru(MinGRU* layer, const float* input) {
    if (!layer) return;
    int H = layer->hidden_size;
    const float* x = input;
    for (int l = 0; l < layer->num_layers; l++, x = layer->output) {
        linear(layer->proj[l], x);
        for (int b = 0; b < layer->batch_size; b++) {
            const float* gates = layer->proj[l]->output + (size_t)b * 3 * H;
            float* h = layer->state + ((size_t)l * layer->batch_size + b) * H;
            for (int i = 0; i < H; i++) {
                size_t at = (size_t)b * H + i;
                layer->output[at] = puffernet_gate(gates, H, i, h, x[at]);
            }
        }
    }
}

// ---- actions ----------------------------------------------------------------------------------

typedef struct Multidiscrete {
    int batch_size, logit_sizes[32], num_actions;
    int stride;          // from one agent's logits to the next: a value follows them, as in
                         // PufferNet's decoder, unless an actor of its own made them
    unsigned int rng;    // of the draws
} Multidiscrete;

static inline Multidiscrete* make_multidiscrete(int batch_size, const int* logit_sizes,
                                                int num_actions) {
    if (!puffernet_in(num_actions, 1, 32)) return NULL;
    Multidiscrete* layer = (Multidiscrete*)calloc(1, sizeof(Multidiscrete));
    if (!layer) return NULL;
    layer->batch_size = batch_size;
    layer->num_actions = num_actions;
    layer->stride = PUFFERNET_OF_3 ? 0 : 1;
    layer->rng = 1;
    for (int i = 0; i < num_actions; i++) {
        layer->logit_sizes[i] = logit_sizes[i];
        layer->stride += logit_sizes[i];
    }
    return layer;
}

// The ids of all heads, into floats or ints, the other one is NULL
static inline void puffernet_ids(Multidiscrete* layer, const float* input, float* floats, int* ints,
                                 int greedy) {
    for (int b = 0; layer && input && b < layer->batch_size; b++) {
        const float* logits = input + (size_t)b * layer->stride;
        for (int a = 0; a < layer->num_actions; a++) {
            int width = layer->logit_sizes[a], at = b * layer->num_actions + a;
            float uniform = greedy ? 0 : puffernet_uniform(&layer->rng);
            int id = puffernet_pick(logits, width, NULL, greedy, uniform);
            if (floats) floats[at] = (float)id;
            if (ints) ints[at] = id;
            logits += width;
        }
    }
}

static inline void puffernet_argmax_floats(Multidiscrete* layer, const float* input, float* ids) {
    puffernet_ids(layer, input, ids, NULL, 1);
}
static inline void puffernet_argmax_ints(Multidiscrete* layer, const float* input, int* ids) {
    puffernet_ids(layer, input, NULL, ids, 1);
}
static inline void puffernet_softmax_floats(Multidiscrete* layer, const float* input, float* ids) {
    puffernet_ids(layer, input, ids, NULL, 0);
}
static inline void puffernet_softmax_ints(Multidiscrete* layer, const float* input, int* ids) {
    puffernet_ids(layer, input, NULL, ids, 0);
}

// ---- networks ---------------------------------------------------------------------------------

// An export of puffer-sdk holds another network: says so, and which lines to change
static inline int puffernet_is_flat(const Weights* weights, const char* asked) {
    if (!weights) return 0;
    if (!weights->trailer) return 1;
    char sentence[240];
    snprintf(sentence, sizeof sentence,
             "it holds the network of puffer-sdk, not a %s: the program needs make_puffernet, "
             "forward_puffernet and free_puffernet (puffer-sdk export --demo writes these lines)",
             asked);
    puffernet_say(weights->name, sentence);
    return 0;
}

// Says it if a network left weights of the file untaken
static inline void puffernet_all_taken(const Weights* weights, const char* asked) {
    int left = weights->size - PUFFERNET_SPARE - weights->idx;
    if (left <= 0) return;
    char sentence[160];
    snprintf(sentence, sizeof sentence,
             "the program's %s takes %d of its %d weights: is it the one "
             "that was trained?",
             asked, weights->idx, weights->idx + left);
    puffernet_say(weights->name, sentence);
}

// Frees a network and its parts; both may be NULL
static inline void puffernet_free_parts(void* net, void** parts, size_t count) {
    for (size_t i = 0; net && i < count; i++) free(parts[i]);
    free(net);
}

static inline int puffernet_sum(const int* sizes, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += sizes[i];
    return sum;
}

typedef struct Default {
    int num_agents;
    float* obs;    // (agents, in): room for the caller
    Affine* encoder;
    ReLU* relu1;
    Affine *actor, *value_fn;
    Multidiscrete* multidiscrete;
} Default;

static inline void free_default(Default* net) {
    if (!net) return;
    void* parts[] = {net->obs,   net->encoder,  net->relu1,
                     net->actor, net->value_fn, net->multidiscrete};
    puffernet_free_parts(net, parts, sizeof parts / sizeof *parts);
}

static inline Default* make_default(Weights* weights, int num_agents, int input_dim, int hidden_dim,
                                    int action_dim) {
    Default* net = puffernet_is_flat(weights, "Default") ? (Default*)calloc(1, sizeof(Default))
                                                         : NULL;
    if (!net) return NULL;
    net->num_agents = num_agents;
    net->obs = (float*)calloc((size_t)num_agents * (size_t)input_dim, sizeof(float));
    net->encoder = make_affine(weights, num_agents, input_dim, hidden_dim);
    net->relu1 = make_relu(num_agents, hidden_dim);
    net->actor = net->encoder ? make_affine(weights, num_agents, hidden_dim, action_dim) : NULL;
    net->value_fn = net->actor ? make_affine(weights, num_agents, hidden_dim, 1) : NULL;
    net->multidiscrete = make_multidiscrete(num_agents, &action_dim, 1);
    if (net->obs && net->relu1 && net->value_fn && net->multidiscrete) {
        net->multidiscrete->stride = action_dim;
        puffernet_all_taken(weights, "Default");
        return net;
    }
    free_default(net);
    return NULL;
}

static inline const float* puffernet_run_default(Default* net, const float* observations) {
    if (!net) return NULL;
    affine(net->encoder, observations);
    relu(net->relu1, net->encoder->output);
    affine(net->actor, net->relu1->output);
    affine(net->value_fn, net->relu1->output);
    return net->actor->output;
}

typedef struct LinearLSTM {
    int num_agents;
    float* obs;    // (agents, in): room for the caller
    Affine* encoder;
    GELU* gelu1;
    LSTM* lstm;
    Affine *actor, *value_fn;
    Multidiscrete* multidiscrete;
} LinearLSTM;

static inline void free_linearlstm(LinearLSTM* net) {
    if (!net) return;
    void* parts[] = {net->obs,   net->encoder,  net->gelu1,        net->lstm,
                     net->actor, net->value_fn, net->multidiscrete};
    puffernet_free_parts(net, parts, sizeof parts / sizeof *parts);
}

static inline LinearLSTM* make_linearlstm(Weights* weights, int num_agents, int input_dim,
                                          const int* logit_sizes, int num_actions) {
    enum { HIDDEN = 128 };
    LinearLSTM* net = puffernet_is_flat(weights, "LinearLSTM")
                          ? (LinearLSTM*)calloc(1, sizeof(LinearLSTM))
                          : NULL;
    if (!net) return NULL;
    int logits = puffernet_sum(logit_sizes, num_actions);
    net->num_agents = num_agents;
    net->obs = (float*)calloc((size_t)num_agents * (size_t)input_dim, sizeof(float));
    net->encoder = make_affine(weights, num_agents, input_dim, HIDDEN);
    net->gelu1 = make_gelu(num_agents, HIDDEN);
    net->actor = net->encoder ? make_affine(weights, num_agents, HIDDEN, logits) : NULL;
    net->value_fn = net->actor ? make_affine(weights, num_agents, HIDDEN, 1) : NULL;
    net->lstm = net->value_fn ? make_lstm(weights, num_agents, HIDDEN, HIDDEN) : NULL;
    net->multidiscrete = make_multidiscrete(num_agents, logit_sizes, num_actions);
    if (net->obs && net->gelu1 && net->lstm && net->multidiscrete) {
        net->multidiscrete->stride = logits;
        puffernet_all_taken(weights, "LinearLSTM");
        return net;
    }
    free_linearlstm(net);
    return NULL;
}

static inline const float* puffernet_run_linearlstm(LinearLSTM* net, const float* observations) {
    if (!net) return NULL;
    affine(net->encoder, observations);
    gelu(net->gelu1, net->encoder->output);
    lstm(net->lstm, net->gelu1->output);
    affine(net->actor, net->lstm->state_h);
    affine(net->value_fn, net->lstm->state_h);
    return net->actor->output;
}

typedef struct ConvLSTM {
    int num_agents;
    float* obs;    // (agents, channels, in, in): room for the caller
    Conv2D* conv1;
    ReLU* relu1;
    Conv2D* conv2;
    ReLU* relu2;
    Affine* linear;
    LSTM* lstm;
    Affine *actor, *value_fn;
    Multidiscrete* multidiscrete;
} ConvLSTM;

static inline void free_convlstm(ConvLSTM* net) {
    if (!net) return;
    void* parts[] = {net->obs,    net->conv1, net->relu1, net->conv2,    net->relu2,
                     net->linear, net->lstm,  net->actor, net->value_fn, net->multidiscrete};
    puffernet_free_parts(net, parts, sizeof parts / sizeof *parts);
}

static inline ConvLSTM* make_convlstm(Weights* weights, int num_agents, int input_dim,
                                      int input_channels, int cnn_channels, int hidden_dim,
                                      int action_dim) {
    if (!puffernet_is_flat(weights, "ConvLSTM")) return NULL;
    if (puffernet_places(input_dim, 5, 3) != 3) {
        puffernet_say(weights->name, "a ConvLSTM reads images of 11 to 13 rows and columns");
        return NULL;
    }
    ConvLSTM* net = (ConvLSTM*)calloc(1, sizeof(ConvLSTM));
    if (!net) return NULL;
    int n = num_agents, cells = input_dim * input_dim * input_channels;
    net->num_agents = n;
    net->obs = (float*)calloc((size_t)n * (size_t)cells, sizeof(float));
    net->conv1 = make_conv2d(weights, n, input_dim, input_dim, input_channels, cnn_channels, 5, 3);
    net->relu1 = make_relu(n, cnn_channels * 9);
    net->conv2 = net->conv1 ? make_conv2d(weights, n, 3, 3, cnn_channels, cnn_channels, 3, 1)
                            : NULL;
    net->relu2 = make_relu(n, cnn_channels);
    net->linear = net->conv2 ? make_affine(weights, n, cnn_channels, hidden_dim) : NULL;
    net->actor = net->linear ? make_affine(weights, n, hidden_dim, action_dim) : NULL;
    net->value_fn = net->actor ? make_affine(weights, n, hidden_dim, 1) : NULL;
    net->lstm = net->value_fn ? make_lstm(weights, n, hidden_dim, hidden_dim) : NULL;
    net->multidiscrete = make_multidiscrete(n, &action_dim, 1);
    if (net->obs && net->relu1 && net->relu2 && net->lstm && net->multidiscrete) {
        net->multidiscrete->stride = action_dim;
        puffernet_all_taken(weights, "ConvLSTM");
        return net;
    }
    free_convlstm(net);
    return NULL;
}

static inline const float* puffernet_run_convlstm(ConvLSTM* net, const float* observations) {
    if (!net) return NULL;
    conv2d(net->conv1, observations);
    relu(net->relu1, net->conv1->output);
    conv2d(net->conv2, net->relu1->output);
    relu(net->relu2, net->conv2->output);
    affine(net->linear, net->relu2->output);
    lstm(net->lstm, net->linear->output);
    affine(net->actor, net->lstm->state_h);
    affine(net->value_fn, net->lstm->state_h);
    return net->actor->output;
}

// Actions are floats, as in 4.0, or ints, as in older demos
#define PUFFERNET_FORWARD(name, Type)                                                              \
    static inline void puffernet_##name##_floats(Type* net, const float* observations,             \
                                                 float* actions) {                                 \
        const float* logits = puffernet_run_##name(net, observations);                             \
        if (net) puffernet_ids(net->multidiscrete, logits, actions, NULL, 0);                      \
    }                                                                                              \
    static inline void puffernet_##name##_ints(Type* net, const float* observations,               \
                                               int* actions) {                                     \
        const float* logits = puffernet_run_##name(net, observations);                             \
        if (net) puffernet_ids(net->multidiscrete, logits, NULL, actions, 0);                      \
    }
PUFFERNET_FORWARD(default, Default)
PUFFERNET_FORWARD(linearlstm, LinearLSTM)
PUFFERNET_FORWARD(convlstm, ConvLSTM)
#undef PUFFERNET_FORWARD
#if PUFFERNET_LAYERS + 0 == 3
#define PUFFERNET_FIRST(first, ...)     first
#define load_weights(...)               puffernet_load_weights(PUFFERNET_FIRST(__VA_ARGS__, 0), 0)
#define Linear                          Affine
#define make_linear                     make_affine
#define linear(layer, input)            affine(layer, input)
#define linear_accumulate(layer, input) affine_accumulate(layer, input)
#endif
#undef PUFFERNET_LAYER
#undef PUFFERNET_WITH

#ifdef __cplusplus
#define PUFFERNET_EITHER(name, Type, call)                                                         \
    static inline void call(Type* net, const float* input, float* actions) {                       \
        puffernet_##name##_floats(net, input, actions);                                            \
    }                                                                                              \
    static inline void call(Type* net, const float* input, int* actions) {                         \
        puffernet_##name##_ints(net, input, actions);                                              \
    }
PUFFERNET_EITHER(argmax, Multidiscrete, argmax_multidiscrete)
PUFFERNET_EITHER(softmax, Multidiscrete, softmax_multidiscrete)
PUFFERNET_EITHER(default, Default, forward_default)
PUFFERNET_EITHER(linearlstm, LinearLSTM, forward_linearlstm)
PUFFERNET_EITHER(convlstm, ConvLSTM, forward_convlstm)
#undef PUFFERNET_EITHER
#else
#define PUFFERNET_EITHER(name, net, input, actions)                                                \
    _Generic((actions) + 0, float*: puffernet_##name##_floats, int*: puffernet_##name##_ints)(     \
        net, input, actions)
#define argmax_multidiscrete(net, input, actions)  PUFFERNET_EITHER(argmax, net, input, actions)
#define softmax_multidiscrete(net, input, actions) PUFFERNET_EITHER(softmax, net, input, actions)
#define forward_default(net, input, actions)       PUFFERNET_EITHER(default, net, input, actions)
#define forward_linearlstm(net, input, actions)    PUFFERNET_EITHER(linearlstm, net, input, actions)
#define forward_convlstm(net, input, actions)      PUFFERNET_EITHER(convlstm, net, input, actions)
#endif

#endif
