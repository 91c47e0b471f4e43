/* puffernet.h -- plays a trained policy in C.  NAME_policy.bin + observations -> actions
 *
 * One header, nothing but libc and libm (-lm), C11 or C++17, natively and in the browser. All
 * functions are static inline, so any number of files may include it.
 *
 * A policy that `puffer-sdk export NAME --to c` wrote brings its own sizes:
 *
 *     int sizes[] = ACT_SIZES;
 *     PufferNet* net = puffernet_load("my_env_policy.bin", env.num_agents, OBS_SIZE, sizes,
 *                                     sizeof(sizes) / sizeof(*sizes));
 *     c_reset(&env);
 *     while (!WindowShouldClose()) {
 *         puffernet_act(net, env.observations, env.actions, env.terminals);
 *         c_step(&env);
 *         c_render(&env);
 *     }
 *     puffernet_free(net);
 *
 *   puffernet_load(path, agents, obs_size, sizes, n)    the policy. NULL without a word where there
 *                                       is no such file, NULL and a sentence on stderr where it
 *                                       is damaged or made for other sizes
 *   puffernet_act(net, observations, actions, terminals)
 *                                       one tick of all agents. observations: (agents, obs_size)
 *                                       floats, bytes, ints or bf16 (uint16_t): the pointer's type
 *                                       decides. terminals: of the step before, or NULL; an agent
 *                                       whose episode ended starts the next one with nothing
 *                                       remembered
 *   puffernet_logits(net)               (agents, A) of the last act, before any mask
 *   puffernet_values(net)               (agents)    of the last act
 *   puffernet_reset(net)                all agents forget everything
 *   puffernet_random(actions, agents, sizes, n, &rng)   random play: uniform over the ids of a
 *                                       head, uniform in [-1, 1] for a continuous one
 *   puffernet_random_masked(actions, mask, agents, sizes, n, &rng)   the same over legal ids
 *   puffernet_free(net)                 NULL is fine
 *
 *   net->greedy = 1;                    the likeliest action (a continuous one: its mean) instead
 *                                       of a draw
 *   net->rng = seed;                    of the draws; 1 at first, as eval.seed is. A draw depends on
 *                                       the seed, net->tick, the agent and the head alone
 *   net->tick = 0;                      acts so far; each act adds 1
 *   net->mask = env.action_mask;        (agents, A), 0 where an action is illegal; read in every
 *                                       act. NULL: all are legal. Only zeros: the agent waits
 *   net->alive = env.alive;             (agents), 0 where a row has no agent: it acts with zeros
 *                                       and remembers nothing. Read in every act. NULL: all do
 *
 * PufferLib's Ocean programs compile as they stand. Their weights state no sizes, so the program
 * does, and where the two do not fit, make_puffernet says so and gives NULL:
 *
 *     Weights* weights = load_weights("resources/pong/pong_weights.bin");
 *     int sizes[1] = {3};
 *     PufferNet* net = make_puffernet(weights, 1, 8, 32, 1, sizes, 1);
 *                                          // agents, observation, hidden, layers
 *     forward_puffernet(net, env.observations, env.actions);       // floats
 *     forward_puffernet(net, env.observations, env.actions, mask, terminals);     // or NULL
 *     free_puffernet(net);
 *     free(weights);
 *
 * Other networks and layers of upstream's (make_linearlstm, make_affine, ...) are those of
 * puffernet_layers.h: define PUFFERNET_LAYERS before this header is included. `puffer-sdk build`
 * does so for programs that call one of them.
 *
 * As upstream does it, forward_puffernet draws ids and takes the mean of continuous heads; net->obs
 * is room for (agents, obs) floats that a program may convert its bytes into; net->mingru->state is
 * what the agents remember. A forward with a NULL net leaves the actions alone.
 *
 * The network, sizes D observation, E what it sees of one, H hidden, L layers, K heads, A sum of
 * head widths:
 *
 *     seen = obs                                          E = D; bytes count as 0 to 255. With
 *                                                         parts: see below
 *     x = encoder seen                                    encoder (H, E)
 *     each layer:  [hid, gate, proj] = W x                W (3H, H)
 *                  h <- (1 - z) h + z g(hid)              z = sigmoid(gate); h is remembered
 *                  x <- (1 - s) x + s h                   s = sigmoid(proj)
 *                  g(u) = u + 0.5 if u >= 0 else sigmoid(u)
 *     [logits, value] = decoder x                         decoder (A + 1, H)
 *
 * A network that sees images, grids, ids or lists has parts. Each takes height x width cells of some
 * channels from a row; `seen` holds the numbers that no part takes, then the features of each part.
 * A channel of n ids becomes n numbers, 1 at the id, all 0 for any value that is no id; another one
 * is the number itself. Then come convolutions, without padding and bias:
 *
 *     cell' = max(0, W patch)                             W (filters, kernel * kernel * channels),
 *                                                         ordered by kernel row, kernel column,
 *                                                         channel; a NaN stays
 *
 * Features are ordered by row, column, filter. Those of a list (height things, width 1) are the
 * maximum over the things that are there: whose number at the mask's channel is not 0, or all. Of no
 * thing they are 0.
 *
 * A head of width w > 1 owns w logits and gives an id, drawn from their softmax. A head of width 1
 * is continuous: its logit is the mean, exp(logstd) the deviation, and nothing is clipped (where
 * the environment wants a range, it clips). An agent whose logits are not finite gets zeros, a
 * sentence on stderr once, and an empty memory.
 *
 * The file is what PufferLib writes, little-endian float32, then a trailer that readers of plain
 * weights never reach. Each tensor starts at a multiple of 8 floats from the file's start:
 *
 *     +----------------+---------------------+---------------+-----------------+-----+---------+
 *     | encoder (H, E) | decoder (A+1, H)    | logstd (C)    | layer 0 (3H, H) | ... | trailer |
 *     |                | last row: the value | C continuous  | hid, gate, proj |     |         |
 *     |                |                     | heads; if any |                 |     |         |
 *     +----------------+---------------------+---------------+-----------------+-----+---------+
 *
 *     the convolutions of all parts, in order, stand behind the layers
 *
 *     trailer, from its start                     and from the end of the file
 *        0  u32  version: 1, with parts 2           -16  u32  CRC-32 of all bytes before this word
 *        4  u32  floats before the trailer          -12  u32  bytes of the trailer, 120 + 4K; more
 *        8  u32  D, H, L, K                               in version 2
 *       24  u32  observations: 0 numbers, 1 bytes    -8  "PUFFNET1"
 *       28  u32  1: bytes are divided by 255; 0 in all files written today
 *       32  u64  agent steps trained
 *       40  char env[32]           name, zero at the end
 *       72  char settings[32]      hash of the training's settings
 *      104  u32  act_sizes[K]
 *     version 2, behind them
 *           u32  number of parts, in order of their first elements; then of each
 *           u32  first element, height, width, channels; 1 for a list, 2 where the row holds one
 *                channel after another, else 0; 1 + the mask's channel, or 0; channels, or 0: how many
 *                counts of ids follow; convolutions
 *           u32  ids[channels]                      of each channel; 0: a number
 *           u32  filters, kernel, stride            of each convolution
 */
#ifndef PUFFERNET_H
#define PUFFERNET_H

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUFFERNET_MAGIC    "PUFFNET1"
#define PUFFERNET_VERSION  2             // the newest that is read
#define PUFFERNET_FIXED    120           // bytes of a trailer without act_sizes
#define PUFFERNET_MAX_FILE (1u << 30)    // bytes; and bounds that keep products below 2^63:
#define PUFFERNET_MAX_SIZE (1 << 24)     // agents, observation, sum of head widths
#define PUFFERNET_MAX_NET  (1 << 15)     // hidden, layers, heads
#define PUFFERNET_SPARE    7             // floats that may be read behind the weights
#define PUFFERNET_PARTS    16
#define PUFFERNET_FILTERS  1024
#define PUFFERNET_IDS      4096
#define PUFFERNET_CONVS    8    // convolutions of a part

typedef struct PufferConv {
    int filters, kernel, stride;
    int columns;             // kernel * kernel * channels before
    int height, width;       // of what comes out
    const float* weights;    // (filters, columns)
} PufferConv;

typedef struct PufferPart {    // of an observation
    int first, count;          // elements of a row
    int height, width, channels;
    int pooled, planes;          // a list; a row that holds (channels, height, width)
    int mask;                    // its channel + 1, or 0
    const unsigned char* ids;    // (channels) words; NULL: no channel has ids
    int inputs, features;        // numbers of a cell, of the part
    int num_layers;
    PufferConv layers[PUFFERNET_CONVS];
} PufferPart;

typedef struct Weights {             // one allocation: free(weights) frees it all
    float* data;                     // (size) owned, behind this struct
    int size;                        // floats of weights, and 7 more, as upstream counts
    int idx;                         // floats that a network has taken
    const unsigned char* trailer;    // inside the allocation; NULL in a file without one
    const char* name;                // of the file, inside the allocation; may be NULL
    int num_parts, seen_size;        // of the trailer; 0 without parts
    PufferPart parts[PUFFERNET_PARTS];
} Weights;

typedef struct MinGRU {
    float* state;            // (L, agents, H) h, owned by the net
    float* output;           // of a layer of its own (puffernet_layers.h): (agents, H)
    struct Linear** proj;    // and its L projections
    int batch_size, hidden_size, num_layers;
} MinGRU;

typedef struct PufferNet {    // one allocation, but for weights that it owns
    // yours to set
    int greedy;                    // 1: likeliest actions. 0: draws
    unsigned long long rng;        // seed of the draws, below 2^56
    unsigned long long tick;       // acts so far
    const unsigned char* mask;     // (agents, A) legal actions, the caller's; or NULL
    const unsigned char* alive;    // (agents) 0 without an agent, the caller's; or NULL
    float* obs;                    // (agents, D) room for the caller; not read by itself
    // yours to read
    char env[32];               // from the trailer, else ""
    unsigned long long step;    // agent steps trained, else 0
    int num_agents, obs_size, hidden_size, num_layers;
    int num_actions, num_logits;    // K, A
    const int* act_sizes;           // (K)
    MinGRU* mingru;
    float* logits;    // (agents, A)
    float* values;    // (agents)
    // the rest is its own
    MinGRU gru;
    int bytes, scale, warned;
    const float *encoder, *decoder, *logstd, *layers;
    size_t layer_stride;         // floats from one layer to the next
    float *input, *x, *gates;    // (D), (H), (3H or A + 1) scratch, one agent at a time
    int num_parts, seen_size;    // E
    PufferPart* parts;
    float *seen, *cells[2], *patch;    // (E): input without parts; of two convolutions; of a kernel
    int* columns;                      // of a patch whose cells hold ids
    Weights* owned;
} PufferNet;

// ---- sizes and places -------------------------------------------------------------------------

typedef struct PufferLayout {
    uint64_t decoder, logstd, layers, stride, end;    // floats from the start of the file
    uint64_t numbers;                                 // weights without the gaps between them
} PufferLayout;

static inline uint64_t puffernet_align(uint64_t floats) { return (floats + 7) / 8 * 8; }

static inline int puffernet_in(long long value, long long low, long long high) {
    return value >= low && value <= high;
}

// A tensor of so many numbers behind those before it: where it begins
static inline uint64_t puffernet_append(PufferLayout* at, uint64_t count) {
    uint64_t begin = puffernet_align(at->end);
    at->end = begin + count;
    at->numbers += count;
    return begin;
}

static inline PufferLayout puffernet_layout(uint64_t E, uint64_t H, uint64_t L, uint64_t A,
                                            uint64_t continuous) {
    PufferLayout at;
    uint64_t layer = 3 * H * H;
    at.decoder = puffernet_align(E * H);
    at.end = at.decoder + (A + 1) * H;
    at.logstd = puffernet_align(at.end);
    if (continuous) at.end = at.logstd + continuous;
    at.layers = puffernet_align(at.end);
    at.stride = puffernet_align(layer);
    if (L) at.end = at.layers + (L - 1) * at.stride + layer;
    at.numbers = E * H + (A + 1) * H + continuous + L * layer;
    return at;
}

static inline uint32_t puffernet_word(const unsigned char* bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

// zlib's CRC-32, four bits at a time
static inline uint32_t puffernet_crc(const unsigned char* bytes, size_t count) {
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                       0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < count; i++) {
        crc = crc >> 4 ^ table[(crc ^ bytes[i]) & 15];
        crc = crc >> 4 ^ table[(crc ^ bytes[i] >> 4) & 15];
    }
    return ~crc;
}

// ---- reading a file ---------------------------------------------------------------------------

static inline void puffernet_say(const char* name, const char* sentence) {
    fprintf(stderr, "puffernet: %s: %s\n", name ? name : "weights", sentence);
}

// A convolution of cells of this size; 0 where it cannot be
static inline int puffernet_read_conv(PufferConv* layer, const unsigned char* words, int pooled,
                                      int height, int width, uint64_t channels) {
    uint32_t filters = puffernet_word(words), kernel = puffernet_word(words + 4);
    uint32_t stride = puffernet_word(words + 8), side = (uint32_t)(height < width ? height : width);
    uint64_t columns = (uint64_t)kernel * kernel * channels;
    if (!puffernet_in(filters, 1, PUFFERNET_FILTERS) || !puffernet_in(stride, 1, PUFFERNET_MAX_SIZE)
        || !kernel || (pooled ? kernel != 1 || stride != 1 : kernel > side))
        return 0;
    layer->filters = (int)filters, layer->kernel = (int)kernel, layer->stride = (int)stride;
    layer->height = (height - layer->kernel) / layer->stride + 1;
    layer->width = (width - layer->kernel) / layer->stride + 1;
    layer->columns = columns > PUFFERNET_MAX_SIZE ? 0 : (int)columns;
    return layer->columns
           && (uint64_t)layer->height * (uint64_t)layer->width * filters <= PUFFERNET_MAX_SIZE;
}

// The part that these words describe, of elements from `free_from` to below `size`; the words behind
// it, or NULL where it cannot be
static inline const unsigned char* puffernet_read_part(PufferPart* part, const unsigned char* words,
                                                       const unsigned char* end, uint64_t free_from,
                                                       uint64_t size) {
    uint32_t head[8];
    if (end - words < (int)sizeof(head)) return NULL;
    for (int i = 0; i < 8; i++, words += 4) head[i] = puffernet_word(words);
    uint32_t channels = head[3], counts = head[6], layers = head[7];
    uint64_t cells = (uint64_t)head[1] * head[2], inputs = counts ? 0 : channels;
    if (!puffernet_in((long long)cells, 1, PUFFERNET_MAX_SIZE)
        || !puffernet_in(channels, 1, PUFFERNET_MAX_SIZE) || head[0] < free_from
        || head[0] + cells * channels > size || head[4] > 2 || (counts && counts != channels)
        || (head[4] == 1 ? head[2] != 1 || head[5] > channels : head[5]) || (head[4] == 2 && counts)
        || layers > PUFFERNET_CONVS || (!layers && (head[4] || !counts))
        || (uint64_t)(end - words) < 4 * ((uint64_t)counts + 3 * layers))
        return NULL;
    part->first = (int)head[0], part->height = (int)head[1], part->width = (int)head[2];
    part->channels = (int)channels, part->count = (int)(cells * channels);
    part->mask = (int)head[5];
    part->pooled = head[4] == 1, part->planes = head[4] == 2;
    part->num_layers = (int)layers, part->ids = counts ? words : NULL;
    for (uint32_t i = 0; i < counts; i++, words += 4) {
        uint32_t count = puffernet_word(words);
        if (count == 1 || count > PUFFERNET_IDS) return NULL;
        inputs += count ? count : 1;
    }
    uint64_t depth = inputs, features = cells * inputs;
    int height = part->height, width = part->width;
    for (int i = 0; i < part->num_layers; i++, words += 12) {
        PufferConv* layer = &part->layers[i];
        if (!puffernet_read_conv(layer, words, part->pooled, height, width, depth)) return NULL;
        height = layer->height, width = layer->width, depth = (uint64_t)layer->filters;
        features = (uint64_t)height * (uint64_t)width * depth;
    }
    if (part->pooled) features = depth;
    if (features > PUFFERNET_MAX_SIZE || inputs > PUFFERNET_MAX_SIZE) return NULL;
    part->inputs = (int)inputs, part->features = (int)features;
    return words;
}

// The parts of a trailer; 0 where they cannot be
static inline int puffernet_read_parts(Weights* weights, const unsigned char* words,
                                       const unsigned char* end) {
    uint64_t free_from = 0, size = puffernet_word(weights->trailer + 8), seen = size;
    uint32_t count = end - words < 4 ? 0 : puffernet_word(words);
    if (!puffernet_in(count, 1, PUFFERNET_PARTS) || size > PUFFERNET_MAX_SIZE) return 0;
    words += 4;
    for (uint32_t i = 0; i < count; i++) {
        PufferPart* part = &weights->parts[i];
        words = puffernet_read_part(part, words, end, free_from, size);
        if (!words) return 0;
        free_from = (uint64_t)part->first + (uint64_t)part->count;
        seen += (uint64_t)part->features - (uint64_t)part->count;
    }
    if (words != end || seen > PUFFERNET_MAX_SIZE) return 0;
    weights->num_parts = (int)count, weights->seen_size = (int)seen;
    return 1;
}

// What a trailer claims is held against the file before anything relies on it. Returns a sentence,
// or NULL where all is well; `floats` is then the number of weights.
static inline const char* puffernet_find_trailer(Weights* weights, size_t bytes, size_t* floats) {
    const unsigned char* data = (const unsigned char*)weights->data;
    const char* damaged = "the file is damaged";
    *floats = bytes / 4;
    if (bytes % 4 || !bytes) return "the file is damaged: not a whole number of floats";
    if (bytes < PUFFERNET_FIXED || memcmp(data + bytes - 8, PUFFERNET_MAGIC, 8)) return NULL;

    uint32_t length = puffernet_word(data + bytes - 12);
    if (length < PUFFERNET_FIXED || length > bytes || length % 4) return damaged;
    if (puffernet_word(data + bytes - 16) != puffernet_crc(data, bytes - 16))
        return "the file is damaged: its checksum does not fit";
    const unsigned char* trailer = data + bytes - length;
    uint32_t version = puffernet_word(trailer);
    if (!puffernet_in(version, 1, PUFFERNET_VERSION))
        return "a newer puffer-sdk wrote this file: export it anew, or take that one's puffernet.h";
    *floats = (bytes - length) / 4;
    uint32_t heads = puffernet_word(trailer + 20);
    if (puffernet_word(trailer + 4) != *floats || heads > PUFFERNET_MAX_NET
        || length < PUFFERNET_FIXED + 4 * heads || !memchr(trailer + 40, 0, 32))
        return damaged;
    const unsigned char *behind = trailer + 104 + 4 * heads, *end = trailer + length - 16;
    weights->trailer = trailer;
    if (version == 1 ? behind != end : !puffernet_read_parts(weights, behind, end)) return damaged;
    return NULL;
}

// The whole stream behind a Weights and its name, which start the allocation; NULL when it fails
static inline Weights* puffernet_read(FILE* file, size_t head, size_t* bytes,
                                      const char** problem) {
    size_t room = 1 << 16, size = 0;
    unsigned char* block = NULL;
    for (;;) {
        unsigned char* larger = (unsigned char*)realloc(block, head + room + 4 * PUFFERNET_SPARE);
        if (!larger) *problem = "there is not enough memory for it";
        if (!larger) break;
        block = larger;
        size += fread(block + head + size, 1, room - size, file);
        if (ferror(file)) *problem = strerror(errno);
        if (size > PUFFERNET_MAX_FILE) *problem = "the file is too large to be a policy";
        if (ferror(file) || size > PUFFERNET_MAX_FILE) break;
        if (size < room) {
            memset(block + head + size, 0, 4 * PUFFERNET_SPARE);
            *bytes = size;
            return (Weights*)(void*)block;
        }
        room *= 2;
    }
    free(block);
    return NULL;
}

// load_weights; silent: no word where there is no such file
static inline Weights* puffernet_load_weights(const char* path, int silent) {
    FILE* file = fopen(path, "rb");
    if (!file) {
        if (!silent || errno != ENOENT) puffernet_say(path, strerror(errno));
        return NULL;
    }
    size_t length = strlen(path) + 1, bytes = 0, floats = 0;
    size_t head = (sizeof(Weights) + length + 15) / 16 * 16;
    const char* problem = "it cannot be read";
    Weights* weights = puffernet_read(file, head, &bytes, &problem);
    fclose(file);
    if (!weights) {
        puffernet_say(path, problem);
        return NULL;
    }
    memset(weights, 0, sizeof(*weights));
    weights->data = (float*)(void*)((char*)weights + head);
    weights->name = (char*)(weights + 1);
    memcpy((char*)(weights + 1), path, length);
    problem = puffernet_find_trailer(weights, bytes, &floats);
    for (size_t i = 0; i < floats && !problem; i++)
        if (!isfinite(weights->data[i])) problem = "the file is damaged: a weight is not finite";
    if (problem) {
        puffernet_say(path, problem);
        free(weights);
        return NULL;
    }
    weights->size = (int)floats + PUFFERNET_SPARE;
    return weights;
}

static inline Weights* load_weights(const char* path) { return puffernet_load_weights(path, 0); }

// ---- making a network -------------------------------------------------------------------------

// Whether the trailer tells of the network that is asked for; if not, says what differs
static inline int puffernet_fits(const Weights* weights, int obs_size, int hidden, int layers,
                                 const int* sizes, int n) {
    const char* names[] = {"observation size", "hidden size", "number of layers",
                           "number of action heads"};
    const int asked[] = {obs_size, hidden, layers, n};
    char sentence[160];
    if (!weights->trailer) return 1;
    for (int i = 0; i < 4; i++) {
        uint32_t has = puffernet_word(weights->trailer + 8 + 4 * i);
        if (has == (uint32_t)asked[i]) continue;
        snprintf(sentence, sizeof(sentence), "its %s is %u, and the program asks for %d", names[i],
                 (unsigned)has, asked[i]);
        puffernet_say(weights->name, sentence);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        uint32_t has = puffernet_word(weights->trailer + 104 + 4 * i);
        if (has == (uint32_t)sizes[i]) continue;
        snprintf(sentence, sizeof(sentence),
                 "its action head %d has width %u, and the program "
                 "asks for %d",
                 i, (unsigned)has, sizes[i]);
        puffernet_say(weights->name, sentence);
        return 0;
    }
    return 1;
}

// Whether a file of this many floats holds the layout; if not, says what differs
static inline int puffernet_complete(const Weights* weights, const PufferLayout* at) {
    char sentence[160];
    uint64_t size = weights->size > 0 ? (uint64_t)weights->size : 0;
    uint64_t floats = size > PUFFERNET_SPARE ? size - PUFFERNET_SPARE : 0;
    if (floats >= at->end && floats <= puffernet_align(at->end)) return 1;
    // PufferLib 4.0 forgets the gaps when it counts what to write: the last weights are missing
    int cut = floats == at->numbers && !weights->trailer && at->end - floats <= PUFFERNET_SPARE;
    if (cut)
        snprintf(sentence, sizeof(sentence),
                 "PufferLib left out its last %d weights; zeros stand "
                 "in",
                 (int)(at->end - floats));
    else
        snprintf(sentence, sizeof(sentence),
                 "it holds %llu weights, and a network of these sizes "
                 "has %llu",
                 (unsigned long long)floats, (unsigned long long)at->end);
    puffernet_say(weights->name, sentence);
    return cut;
}

// Floats that the convolutions of all parts need: of cells, of a patch; and elements of a patch whose
// cells hold ids
typedef struct PufferRoom {
    uint64_t cells, patch, columns;
} PufferRoom;

static inline PufferRoom puffernet_room(const PufferPart* parts, int count) {
    PufferRoom room = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        uint64_t planes = parts[i].planes ? (uint64_t)parts[i].count : 0;
        if (planes > room.cells) room.cells = planes;
        for (int k = 0; k < parts[i].num_layers; k++) {
            const PufferConv* layer = &parts[i].layers[k];
            uint64_t square = (uint64_t)layer->kernel * (uint64_t)layer->kernel;
            uint64_t cells = (uint64_t)layer->height * (uint64_t)layer->width
                             * (uint64_t)layer->filters;
            uint64_t ids = k || !parts[i].ids ? 0 : square * (uint64_t)parts[i].channels;
            uint64_t patch = ids ? ids : (uint64_t)layer->columns;
            if (cells > room.cells) room.cells = cells;
            if (patch > room.patch) room.patch = patch;
            if (ids > room.columns) room.columns = ids;
        }
    }
    return room;
}

static inline PufferNet* puffernet_allocate(int agents, int D, int H, int L, int A, int K,
                                            const PufferPart* parts, int num_parts, int E) {
    PufferRoom room = puffernet_room(parts, num_parts);
    uint64_t wide = 3 * (uint64_t)H > (uint64_t)A + 1 ? 3 * (uint64_t)H : (uint64_t)A + 1;
    uint64_t seen = num_parts ? (uint64_t)E : 0;
    uint64_t floats = (uint64_t)agents * D + (uint64_t)L * agents * H + (uint64_t)agents * (A + 1)
                      + (uint64_t)D + H + wide + seen + 2 * room.cells + room.patch;
    uint64_t head = sizeof(PufferNet) + sizeof(PufferPart) * (uint64_t)num_parts;
    uint64_t bytes = head + sizeof(float) * floats + sizeof(int) * ((uint64_t)K + room.columns);
    PufferNet* net = bytes > SIZE_MAX / 2 ? NULL : (PufferNet*)calloc(1, (size_t)bytes);
    if (!net) return NULL;
    net->parts = (PufferPart*)(void*)(net + 1);
    if (num_parts) memcpy(net->parts, parts, sizeof(PufferPart) * (size_t)num_parts);
    float* next = (float*)(void*)(net->parts + num_parts);
    net->obs = next;
    next += (size_t)agents * D;
    net->gru.state = next;
    next += (size_t)L * agents * H;
    net->logits = next;
    next += (size_t)agents * A;
    net->values = next;
    next += agents;
    net->input = next;
    next += D;
    net->x = next;
    next += H;
    net->gates = next;
    next += wide;
    net->seen = num_parts ? next : net->input;
    next += seen;
    for (int i = 0; i < 2; i++, next += room.cells) net->cells[i] = next;
    net->patch = next;
    next += room.patch;
    net->act_sizes = (const int*)(void*)next;
    net->columns = (int*)(void*)next + K;
    net->gru.batch_size = agents, net->gru.hidden_size = H, net->gru.num_layers = L;
    net->mingru = &net->gru;
    net->num_agents = agents, net->obs_size = D, net->hidden_size = H, net->num_layers = L;
    net->num_actions = K, net->num_logits = A, net->rng = 1;
    net->num_parts = num_parts, net->seen_size = E;
    return net;
}

static inline PufferNet* make_puffernet(Weights* weights, int num_agents, int obs_size, int hidden,
                                        int num_layers, const int act_sizes[], int num_actions) {
    int total = 0, continuous = 0;
    if (!weights) return NULL;    // load_weights has said why
    int sound = puffernet_in(num_agents, 1, PUFFERNET_MAX_SIZE)
                && puffernet_in(obs_size, 1, PUFFERNET_MAX_SIZE)
                && puffernet_in(hidden, 1, PUFFERNET_MAX_NET)
                && puffernet_in(num_layers, 0, PUFFERNET_MAX_NET)
                && puffernet_in(num_actions, 1, PUFFERNET_MAX_NET) && act_sizes;
    for (int i = 0; sound && i < num_actions; i++) {
        sound = puffernet_in(act_sizes[i], 1, PUFFERNET_MAX_SIZE - total);
        total += sound ? act_sizes[i] : 0;
        continuous += act_sizes[i] == 1;
    }
    if (!sound) {
        puffernet_say(weights->name, "the program asks for a network of impossible sizes");
        return NULL;
    }
    if (!puffernet_fits(weights, obs_size, hidden, num_layers, act_sizes, num_actions)) return NULL;
    int seen_size = weights->num_parts ? weights->seen_size : obs_size;
    PufferLayout at = puffernet_layout((uint64_t)seen_size, (uint64_t)hidden, (uint64_t)num_layers,
                                       (uint64_t)total, (uint64_t)continuous);
    for (int i = 0; i < weights->num_parts; i++)
        for (int k = 0; k < weights->parts[i].num_layers; k++) {
            PufferConv* layer = &weights->parts[i].layers[k];
            uint64_t begin = puffernet_append(&at,
                                              (uint64_t)layer->filters * (uint64_t)layer->columns);
            layer->weights = begin < (uint64_t)weights->size ? weights->data + begin : NULL;
        }
    if (!puffernet_complete(weights, &at)) return NULL;
    PufferNet* net = puffernet_allocate(num_agents, obs_size, hidden, num_layers, total,
                                        num_actions, weights->parts, weights->num_parts, seen_size);
    if (!net) {
        puffernet_say(weights->name, "there is not enough memory for this network");
        return NULL;
    }
    memcpy((void*)net->act_sizes, act_sizes, sizeof(int) * (size_t)num_actions);
    net->encoder = weights->data;
    net->decoder = weights->data + at.decoder;
    net->logstd = continuous ? weights->data + at.logstd : NULL;
    net->layers = num_layers ? weights->data + at.layers : NULL;
    net->layer_stride = (size_t)at.stride;
    weights->idx = (int)at.end;
    if (weights->trailer) {
        net->scale = puffernet_word(weights->trailer + 24) == 1
                     && puffernet_word(weights->trailer + 28) == 1;
        net->step = puffernet_word(weights->trailer + 32)
                    | (unsigned long long)puffernet_word(weights->trailer + 36) << 32;
        memcpy(net->env, weights->trailer + 40, sizeof(net->env));
    }
    return net;
}

static inline void free_puffernet(PufferNet* net) {
    if (!net) return;
    free(net->owned);
    free(net);
}

static inline PufferNet* puffernet_load(const char* path, int agents, int obs_size,
                                        const int* act_sizes, int num_actions) {
    Weights* weights = puffernet_load_weights(path, 1);
    PufferNet* net = NULL;
    if (weights && !weights->trailer)
        puffernet_say(path, "it states no sizes: PufferLib's own files need make_puffernet, and an "
                            "export of puffer-sdk may have been cut off");
    else if (weights)
        net = make_puffernet(weights, agents, obs_size, (int)puffernet_word(weights->trailer + 12),
                             (int)puffernet_word(weights->trailer + 16), act_sizes, num_actions);
    if (net) net->owned = weights;
    else free(weights);
    return net;
}

static inline void puffernet_free(PufferNet* net) { free_puffernet(net); }

static inline void puffernet_reset(PufferNet* net) {
    if (!net) return;
    size_t count = (size_t)net->num_layers * (size_t)net->num_agents * (size_t)net->hidden_size;
    memset(net->gru.state, 0, sizeof(float) * count);
}

static inline const float* puffernet_logits(const PufferNet* net) {
    return net ? net->logits : NULL;
}

static inline const float* puffernet_values(const PufferNet* net) {
    return net ? net->values : NULL;
}

// ---- computing --------------------------------------------------------------------------------

// y (rows) = W (rows, columns) x. Eight sums at once: compilers may not reorder a single one
static inline void puffernet_product(const float* W, const float* x, float* y, int rows,
                                     int columns) {
    for (int r = 0; r < rows; r++) {
        const float* row = W + (size_t)r * columns;
        float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0}, rest = 0;
        int c = 0;
        for (; c + 8 <= columns; c += 8)
            for (int i = 0; i < 8; i++) sums[i] += row[c + i] * x[c + i];
        for (; c < columns; c++) rest += row[c] * x[c];
        y[r] = (sums[0] + sums[4]) + (sums[1] + sums[5]) + (sums[2] + sums[6]) + (sums[3] + sums[7])
               + rest;
    }
}

// The id that this number is, below count; -1 where it is none
static inline int puffernet_id(float value, int count) {
    int id = value >= 0 && value < (float)count ? (int)value : -1;
    return (float)id == value ? id : -1;
}

// Numbers that are not 0 before a convolution, of one cell of a part that has ids: which columns,
// from `column` on, and their values. Returns how many
static inline int puffernet_cell(const PufferPart* part, const float* cell, int column,
                                 int* columns, float* values) {
    int found = 0;
    for (int i = 0; i < part->channels; i++) {
        int count = (int)puffernet_word(part->ids + 4 * i);
        int id = count ? puffernet_id(cell[i], count) : 0;
        columns[found] = column + id;
        values[found] = count ? 1.0f : cell[i];
        found += id >= 0;
        column += count ? count : 1;
    }
    return found;
}

// y (filters) = W (filters, columns) of a patch that has few columns which are not 0
static inline void puffernet_few(const PufferConv* layer, const int* columns, const float* values,
                                 int count, float* y) {
    for (int f = 0; f < layer->filters; f++) {
        const float* row = layer->weights + (size_t)f * (size_t)layer->columns;
        float sum = 0;
        for (int i = 0; i < count; i++) sum += row[columns[i]] * values[i];
        y[f] = sum;
    }
}

// in (height, width, channels) -> out (height, width, filters); ids: the part whose cells they are
static inline void puffernet_part_layer(PufferNet* net, const PufferConv* layer,
                                        const PufferPart* ids, const float* in, int width,
                                        int channels, float* out) {
    int kernel = layer->kernel;
    size_t across = (size_t)kernel * (size_t)channels;
    for (int at = 0; at < layer->height * layer->width; at++, out += layer->filters) {
        int y = at / layer->width * layer->stride, x = at % layer->width * layer->stride, count = 0;
        for (int row = 0; row < kernel; row++) {
            const float* cells = in + ((size_t)(y + row) * (size_t)width + (size_t)x) * channels;
            if (!ids) memcpy(net->patch + (size_t)row * across, cells, sizeof(float) * across);
            for (int i = 0; ids && i < kernel; i++)
                count += puffernet_cell(ids, cells + (size_t)i * (size_t)channels,
                                        (row * kernel + i) * ids->inputs, net->columns + count,
                                        net->patch + count);
        }
        if (ids) puffernet_few(layer, net->columns, net->patch, count, out);
        else puffernet_product(layer->weights, net->patch, out, layer->filters, layer->columns);
        for (int f = 0; f < layer->filters; f++) out[f] = out[f] < 0 ? 0 : out[f];
    }
}

// The largest of each feature over the things that are there
static inline void puffernet_most(const PufferPart* part, const float* row, const float* cells,
                                  float* seen) {
    int count = part->features;
    memset(seen, 0, sizeof(float) * (size_t)count);
    for (int thing = 0; thing < part->height; thing++) {
        const float* mine = cells + (size_t)thing * (size_t)count;
        if (part->mask && row[(size_t)thing * (size_t)part->channels + part->mask - 1] == 0)
            continue;
        for (int f = 0; f < count; f++)
            if (mine[f] > seen[f] || isnan(mine[f])) seen[f] = mine[f];
    }
}

// The elements of a part, row -> its features, seen
static inline void puffernet_features(PufferNet* net, const PufferPart* part, const float* row,
                                      float* seen) {
    size_t cells = (size_t)part->height * (size_t)part->width;
    const float* in = row;
    const PufferPart* ids = part->ids ? part : NULL;
    int width = part->width, channels = part->channels;
    for (size_t cell = 0; part->planes && cell < cells; cell++)
        for (int i = 0; i < channels; i++)
            net->cells[1][cell * (size_t)channels + (size_t)i] = row[(size_t)i * cells + cell];
    if (part->planes) in = net->cells[1];
    for (int i = 0; i < part->num_layers; i++, ids = NULL) {
        const PufferConv* layer = &part->layers[i];
        int last = i == part->num_layers - 1 && !part->pooled;
        float* out = last ? seen : net->cells[i % 2];
        puffernet_part_layer(net, layer, ids, in, width, channels, out);
        in = out, width = layer->width, channels = layer->filters;
    }
    if (part->pooled) puffernet_most(part, row, in, seen);
    if (part->num_layers) return;
    memset(seen, 0, sizeof(float) * (size_t)part->features);
    for (size_t cell = 0; cell < cells; cell++, row += channels, seen += part->inputs)
        for (int i = 0, column = 0; i < channels; i++) {
            int count = (int)puffernet_word(part->ids + 4 * i);
            int id = count ? puffernet_id(row[i], count) : 0;
            if (id >= 0) seen[column + id] = count ? 1.0f : row[i];
            column += count ? count : 1;
        }
}

// net->input -> net->seen
static inline void puffernet_see(PufferNet* net) {
    float* seen = net->seen;
    int from = 0;
    for (int i = 0; i <= net->num_parts && net->num_parts; i++) {
        const PufferPart* part = i < net->num_parts ? &net->parts[i] : NULL;
        size_t plain = (size_t)((part ? part->first : net->obs_size) - from);
        memcpy(seen, net->input + from, sizeof(float) * plain);
        seen += plain;
        if (part) from = part->first + part->count;
    }
    for (int i = 0; i < net->num_parts; i++) {
        puffernet_features(net, &net->parts[i], net->input + net->parts[i].first, seen);
        seen += net->parts[i].features;
    }
}

static inline float puffernet_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// Element i of a layer: h moves on; x becomes what is returned. gates: hid, gate, proj
static inline float puffernet_gate(const float* gates, int H, int i, float* h, float x) {
    float hid = gates[i], z = puffernet_sigmoid(gates[H + i]);
    float s = puffernet_sigmoid(gates[2 * H + i]);
    float g = hid >= 0 ? hid + 0.5f : puffernet_sigmoid(hid);
    h[i] += z * (g - h[i]);
    return x + s * (h[i] - x);
}

// net->input -> this agent's logits and value; its state moves on
static inline void puffernet_forward_agent(PufferNet* net, int agent) {
    int H = net->hidden_size, A = net->num_logits;
    float *x = net->x, *gates = net->gates;
    puffernet_see(net);
    puffernet_product(net->encoder, net->seen, x, H, net->seen_size);
    for (int layer = 0; layer < net->num_layers; layer++) {
        float* h = net->gru.state + ((size_t)layer * net->num_agents + agent) * H;
        puffernet_product(net->layers + layer * net->layer_stride, x, gates, 3 * H, H);
        for (int i = 0; i < H; i++) x[i] = puffernet_gate(gates, H, i, h, x[i]);
    }
    puffernet_product(net->decoder, x, gates, A + 1, H);
    memcpy(net->logits + (size_t)agent * A, gates, sizeof(float) * (size_t)A);
    net->values[agent] = gates[A];
}

// [0, 1), a multiple of 2^-24
static inline float puffernet_unit(uint32_t word) {
    return (float)(word >> 8) * (1.0f / 16777216.0f);
}

// The next uniform number of random play: a Weyl sequence, its bits well mixed
static inline float puffernet_uniform(unsigned int* rng) {
    uint32_t bits = *rng += 0x9e3779b9u;
    bits = (bits ^ bits >> 16) * 0x21f0aaadu;
    bits = (bits ^ bits >> 15) * 0x735a2d97u;
    bits ^= bits >> 15;
    return puffernet_unit(bits);
}

// Two uniform numbers in [0, 1) of this tick, for one agent and head: those that training and eval
// draw from the same seed (Philox4x32-10; base/philox.py says how it is keyed)
static inline void puffernet_draw(const PufferNet* net, int agent, int head, float out[2]) {
    uint32_t c0 = (uint32_t)agent, c1 = (uint32_t)net->tick, c2 = (uint32_t)(net->tick >> 32);
    uint32_t c3 = (uint32_t)head, k0 = (uint32_t)net->rng;
    uint32_t k1 = (uint32_t)(net->rng >> 32) << 8 | 1u;
    for (int round = 0; round < 10; round++) {
        uint64_t first = (uint64_t)c0 * 0xD2511F53u, second = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(second >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(first >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)second;
        c3 = (uint32_t)first;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = puffernet_unit(c0);
    out[1] = puffernet_unit(c1);
}

static inline float puffernet_normal(const float u[2]) {    // Box-Muller; 1 - u is never 0
    return sqrtf(-2.0f * logf(1.0f - u[0])) * cosf(6.28318531f * u[1]);
}

// The id of one head. legal (width) or NULL. The draw is the number of partial sums <= u total, so
// an id of probability 0 never comes; where nothing is legal, every id counts as if it were
static inline int puffernet_pick(const float* logits, int width, const unsigned char* legal,
                                 int greedy, float uniform) {
    int best = -1;
    int any = 0;
    for (int i = 0; legal && i < width; i++) any |= legal[i];
    if (!any) legal = NULL;
    for (int i = 0; i < width; i++)
        if ((!legal || legal[i]) && (best < 0 || logits[i] > logits[best])) best = i;
    if (greedy) return best;
    float most = logits[best], total = 0, sum = 0;
    for (int i = 0; i < width; i++)
        if (!legal || legal[i]) total += expf(logits[i] - most);
    float bound = uniform * total;
    for (int i = 0; i < width; i++) {
        if (legal && !legal[i]) continue;
        sum += expf(logits[i] - most);
        if (sum > bound) return i;
    }
    return best;    // rounding alone could lead here
}

static inline void puffernet_choose(PufferNet* net, int agent, float* actions,
                                    const unsigned char* mask, int draw_continuous) {
    const float* logits = net->logits + (size_t)agent * net->num_logits;
    const unsigned char* legal = mask ? mask + (size_t)agent * net->num_logits : NULL;
    float* out = actions + (size_t)agent * net->num_actions;
    for (int head = 0, column = 0, dim = 0; head < net->num_actions; head++) {
        int width = net->act_sizes[head];
        float draws[2];
        puffernet_draw(net, agent, head, draws);
        if (width == 1) {
            float logstd = net->logstd[dim++];
            logstd = logstd < -20.0f ? -20.0f : logstd > 2.0f ? 2.0f : logstd;
            out[head] = logits[column];
            if (draw_continuous) out[head] += expf(logstd) * puffernet_normal(draws);
        } else {
            out[head] = (float)puffernet_pick(logits + column, width, legal ? legal + column : NULL,
                                              net->greedy, draws[0]);
        }
        column += width;
    }
}

static inline int puffernet_finite(const PufferNet* net, int agent) {
    const float* logits = net->logits + (size_t)agent * net->num_logits;
    int finite = isfinite(net->values[agent]) != 0;
    for (int i = 0; i < net->num_logits; i++) finite &= isfinite(logits[i]) != 0;
    return finite;
}

static inline void puffernet_forget(PufferNet* net, int agent) {
    for (int layer = 0; layer < net->num_layers; layer++)
        memset(net->gru.state + ((size_t)layer * net->num_agents + agent) * net->hidden_size, 0,
               sizeof(float) * (size_t)net->hidden_size);
}

// Whether its mask allows nothing: it waits for its turn
static inline int puffernet_waits(const PufferNet* net, int agent, const unsigned char* mask) {
    if (!mask) return 0;
    for (int i = 0; i < net->num_logits; i++)
        if (mask[(size_t)agent * net->num_logits + i]) return 0;
    return 1;
}

// Zeros for an agent that cannot act
static inline void puffernet_rest(PufferNet* net, int agent, float* actions, int forget) {
    if (forget) puffernet_forget(net, agent);
    memset(actions + (size_t)agent * net->num_actions, 0, sizeof(float) * (size_t)net->num_actions);
}

enum { PUFFERNET_FLOATS, PUFFERNET_BYTES, PUFFERNET_INTS, PUFFERNET_BF16 };    // of observations

static inline float puffernet_number(const void* observations, int kind, size_t at) {
    if (kind == PUFFERNET_FLOATS) return ((const float*)observations)[at];
    if (kind == PUFFERNET_BYTES) return (float)((const unsigned char*)observations)[at];
    if (kind == PUFFERNET_INTS) return (float)((const int*)observations)[at];
    uint32_t bits = (uint32_t)((const uint16_t*)observations)[at] << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

// One tick of all agents
static inline void puffernet_tick(PufferNet* net, const void* observations, int kind,
                                  float* actions, const unsigned char* mask, const float* terminals,
                                  int draw_continuous) {
    if (!net) return;
    for (int agent = 0; agent < net->num_agents; agent++) {
        size_t first = (size_t)agent * net->obs_size;
        if (net->alive && !net->alive[agent]) {
            puffernet_rest(net, agent, actions, 1);
            continue;
        }
        if (terminals && terminals[agent] != 0) puffernet_forget(net, agent);
        if (puffernet_waits(net, agent, mask)) {
            puffernet_rest(net, agent, actions, 0);
            continue;
        }
        for (int i = 0; i < net->obs_size; i++) {
            float value = puffernet_number(observations, kind, first + (size_t)i);
            net->input[i] = net->scale ? value / 255.0f : value;
        }
        puffernet_forward_agent(net, agent);
        if (puffernet_finite(net, agent)) {
            puffernet_choose(net, agent, actions, mask, draw_continuous);
            continue;
        }
        if (!net->warned++)
            fprintf(stderr,
                    "puffernet: the policy of agent %d computed a number that is not "
                    "finite (is its observation finite?); it plays zeros\n",
                    agent);
        puffernet_rest(net, agent, actions, 1);
    }
    net->tick++;
}

static inline void puffernet_act_floats(PufferNet* net, const void* observations, float* actions,
                                        const float* terminals) {
    if (net)
        puffernet_tick(net, observations, PUFFERNET_FLOATS, actions, net->mask, terminals,
                       !net->greedy);
}

static inline void puffernet_act_bytes(PufferNet* net, const void* observations, float* actions,
                                       const float* terminals) {
    if (net)
        puffernet_tick(net, observations, PUFFERNET_BYTES, actions, net->mask, terminals,
                       !net->greedy);
}

static inline void puffernet_act_ints(PufferNet* net, const void* observations, float* actions,
                                      const float* terminals) {
    if (net)
        puffernet_tick(net, observations, PUFFERNET_INTS, actions, net->mask, terminals,
                       !net->greedy);
}

static inline void puffernet_act_bf16(PufferNet* net, const void* observations, float* actions,
                                      const float* terminals) {
    if (net)
        puffernet_tick(net, observations, PUFFERNET_BF16, actions, net->mask, terminals,
                       !net->greedy);
}

#ifdef __cplusplus
static inline void puffernet_act(PufferNet* net, const float* observations, float* actions,
                                 const float* terminals) {
    puffernet_act_floats(net, observations, actions, terminals);
}
static inline void puffernet_act(PufferNet* net, const unsigned char* observations, float* actions,
                                 const float* terminals) {
    puffernet_act_bytes(net, observations, actions, terminals);
}
static inline void puffernet_act(PufferNet* net, const char* observations, float* actions,
                                 const float* terminals) {
    puffernet_act_bytes(net, observations, actions, terminals);
}
static inline void puffernet_act(PufferNet* net, const int* observations, float* actions,
                                 const float* terminals) {
    puffernet_act_ints(net, observations, actions, terminals);
}
static inline void puffernet_act(PufferNet* net, const uint16_t* observations, float* actions,
                                 const float* terminals) {
    puffernet_act_bf16(net, observations, actions, terminals);
}
#else
#define puffernet_act(net, observations, actions, terminals)                                       \
    _Generic((observations) + 0,                                                                   \
        float*: puffernet_act_floats,                                                              \
        const float*: puffernet_act_floats,                                                        \
        unsigned char*: puffernet_act_bytes,                                                       \
        const unsigned char*: puffernet_act_bytes,                                                 \
        char*: puffernet_act_bytes,                                                                \
        const char*: puffernet_act_bytes,                                                          \
        int*: puffernet_act_ints,                                                                  \
        const int*: puffernet_act_ints,                                                            \
        uint16_t*: puffernet_act_bf16,                                                             \
        const uint16_t*: puffernet_act_bf16)(net, observations, actions, terminals)
#endif

static inline void puffernet_forward(PufferNet* net, const float* observations, float* actions,
                                     const unsigned char* mask, const float* terminals) {
    puffernet_tick(net, observations, PUFFERNET_FLOATS, actions, mask, terminals, 0);
}

static inline void puffernet_forward_unmasked(PufferNet* net, const float* observations,
                                              float* actions) {
    puffernet_tick(net, observations, PUFFERNET_FLOATS, actions, net ? net->mask : NULL, NULL, 0);
}

// forward_puffernet with three arguments, or with five
#define PUFFERNET_SIXTH(a, b, c, d, e, name, ...) name
#define forward_puffernet(...)                                                                     \
    PUFFERNET_SIXTH(__VA_ARGS__, puffernet_forward, puffernet_takes_3_or_5_arguments,              \
                    puffernet_forward_unmasked, 0, 0)                                              \
    (__VA_ARGS__)

// ---- random play ------------------------------------------------------------------------------

static inline void puffernet_random_masked(float* actions, const unsigned char* mask, int agents,
                                           const int* act_sizes, int num_actions,
                                           unsigned int* rng) {
    for (int agent = 0; agent < agents; agent++) {
        for (int head = 0; head < num_actions; head++) {
            int width = act_sizes[head], legal = 0;
            for (int i = 0; mask && width > 1 && i < width; i++) legal += mask[i] != 0;
            float u = puffernet_uniform(rng);
            if (width == 1) {
                *actions++ = 2 * u - 1;
            } else {
                int id = (int)(u * (float)(legal ? legal : width));
                for (int i = 0; legal && i <= id; i++) id += !mask[i];    // the id-th legal one
                *actions++ = (float)id;
            }
            mask = mask ? mask + width : NULL;
        }
    }
}

static inline void puffernet_random(float* actions, int agents, const int* act_sizes,
                                    int num_actions, unsigned int* rng) {
    puffernet_random_masked(actions, NULL, agents, act_sizes, num_actions, rng);
}

#ifdef PUFFERNET_LAYERS
#include "puffernet_layers.h"
#endif

#endif
