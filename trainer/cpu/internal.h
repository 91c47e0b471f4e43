/* internal.h -- what the files of the CPU trainer share. Each calls only those above it:
 *
 *     shared.h     settings, tensors, faults: what the CUDA trainer has as well
 *     paths.c      instruction sets of the CPU
 *     memory.c     every size, and one allocation for each kind of memory
 *     seeing.c     images, grids, lists and ids of an observation: the encoder's features
 *     policy.c     weights, their packed copies, one tick of the network
 *     games.c      who plays which row, and when an env begins a new game
 *     rollout.c    T ticks of all agents into the rollout buffers; act() without envs
 *     exchange.c   sums over the ranks of a run
 *     picking.c    advantages, and which segments the next minibatch takes
 *     ppo.c        one minibatch: forward, loss, backward in blocks that stay in cache
 *     muon.c       gradients become steps
 *     update.c     an epoch of minibatches, under schedules
 *     trainer.c    create, attach, counters, tensors, stats: the rest of the C ABI
 *
 * Sizes as in puffer_trainer.h and kernels.h: N T D H L K A S R; H_padded and A_padded are padded.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "trainer/common/arena.h"
#include "kernels/kernels.h"
#include "kernels/common/philox.h"
#include "trainer/common/pool.h"
#include "trainer/puffer_trainer.h"
#include "trainer/common/shared.h"

#define BLOCK_ROWS 64      // agents of a forward pass at most
#define MAX_CHUNKS 16      // partial gradients of a minibatch; fixed, so bits are too
#define GROUP      32      // segments of one item of work on advantages
#define SLAB       4096    // floats of one item of elementwise work

enum {    // what time is spent on
    PHASE_COPY,
    PHASE_ENCODE,
    PHASE_LAYERS,
    PHASE_DECODE,
    PHASE_SAMPLE,
    PHASE_ENV,
    PHASE_STORE,
    PHASE_ADVANTAGE,
    PHASE_PICK,
    PHASE_GATHER,
    PHASE_TRAIN_ENCODE,
    PHASE_TRAIN_LAYERS,
    PHASE_LOSS,
    PHASE_SCAN,
    PHASE_DX,
    PHASE_DW,
    PHASE_TRAIN_DENCODE,
    PHASE_REDUCE,
    PHASE_MUON,
    PHASE_PACK,
    PHASE_EXCHANGE,
    PHASES
};

enum { UNKNOWN, CHEAP, DEAR };    // what a step of the envs costs

typedef struct Matrix {    // a weight matrix, its gradient and Muon's view of it
    const char* name;
    int32_t rows, cols;         // as stored; the encoder is stored transposed, (D, H)
    int32_t fan_in, fan_out;    // columns and rows of the matrix that the field writes down
    int32_t tall, wide;         // max and min of rows, cols
    int32_t padded;             // wide rounded up to 2 lanes
    int32_t ld;                 // of the next four
    float* X;                   // (tall, ld) the orthogonalised update
    float* Y;                   // (tall, ld)
    float* G;                   // (ld, ld) X^T X
    float* P;                   // (ld, ld) b G + c G G + a
    int64_t offset;             // of its weights among all weights; gradients lie alike
    float* weight;              // (rows, cols)
    float* gradient;            // (rows, cols) summed over chunks
    float* momentum;            // (rows, cols)
    float* update;              // (rows, cols) Nesterov's
    float* factors;             // [rows] of gradients and steps, or NULL
    int64_t chunk_offset;       // of (chunk_rows, chunk_cols) in a chunk's gradient
    int32_t chunk_rows, chunk_cols;
    char label[32], momentum_label[40];
} Matrix;

typedef struct Convolution {
    int32_t kernel, stride, filters, padded;    // filters, and rounded up to 2 lanes
    int32_t in_height, in_width, in_channels, in_padded;
    int32_t height, width;          // of its output
    int32_t terms, terms_padded;    // kernel^2 in_channels
    int32_t ldc;                    // of columns: what each place of the output sees
    int32_t at_a_time;              // such places
    int32_t matrix;                 // number of its weights (terms, filters)
    float* forward;                 // panels(terms, padded)
    float* backward;                // panels(filters, terms_padded); NULL of a part's first
} Convolution;

typedef struct Part {
    PufferPart about;
    int32_t inputs;                     // numbers of a cell, those of ids included
    int32_t count;                      // elements of the row
    int32_t first_feature, features;    // among those of all parts
    int32_t at_a_time;                  // rows that pass through all its layers
    int32_t num_layers;
    Convolution layers[PUFFER_MAX_CONVOLUTIONS];
} Part;

typedef struct Seeing {
    int32_t count;                        // parts
    int32_t plain;                        // numbers that no part takes
    int32_t features, features_padded;    // of all parts
    int32_t matrices;                     // convolutions of all parts
    float* features_backward;             // panels(H, features_padded) of the encoder's weights
    Part parts[PUFFER_MAX_PARTS];
} Seeing;

typedef struct Policy {
    const Kernels* kernels;
    Heads heads;
    Seeing seeing;
    int32_t D, H, L, K, A, dtype;
    int32_t E;                            // numbers that the encoder sees: D without parts
    int32_t H_padded, A_padded;           // padded
    int32_t ldx, ldg, ldw, lde;           // of activations, gates, widened rows, what is seen
    int32_t num_matrices;                 // L + 2, and convolutions
    Matrix* matrices;                     // encoder, layers, decoder, convolutions
    float* logstd;                        // [heads.continuous]
    float* encoder_panels;                // panels(E, H_padded)
    float* layer_forward[MAX_LAYERS];     // layer panels
    float* layer_backward[MAX_LAYERS];    // panels(3 H_padded, H_padded)
    void* pairs_forward[MAX_LAYERS];      // bf16: the same in pairs
    void* pairs_backward[MAX_LAYERS];
    const void* forward_weights[MAX_LAYERS];    // one of these, as the kernels read them
    const void* backward_weights[MAX_LAYERS];
    float* decoder_forward;     // (A_padded / lanes, H, lanes)
    float* decoder_backward;    // (A + 1, H_padded)
} Policy;

typedef struct Workspace {            // scratch memory of one worker
    uint64_t ticks[PHASES], since;    // clock ticks by phase
    int32_t* where;                   // (rows, D) places of bytes that are not 0
    float* what;                      // (rows, D) those bytes
    int32_t* starts;                  // [rows + 1] of each row in the two above
    float* wide_obs;                  // (rows, ldw) widened bytes or ints
    float* seen;                      // (rows, lde) plain numbers, then features
    float* seen_cells;                // of some rows: a part's cells, and
    float* seen_columns;              // what places of a convolution's output see
    float* seen_outputs[PUFFER_MAX_PARTS][PUFFER_MAX_CONVOLUTIONS];    // (rows, ...)
    float *dseen, *dcells[2];    // (rows, features_padded), and of some rows
    float* x[MAX_LAYERS + 1];    // (rows, ldx)
    float* gates[MAX_LAYERS];    // (rows, ldg)
    float* h[MAX_LAYERS];        // (rows, H_padded)
    float* dx;                   // (rows, ldx)
    float* carry;                // [the most columns of a chunk]
    float* out;                  // (rows, A_padded)
    float* columns;              // (A + 2, columns_ld)
    float* scratch;              // (A + 2, columns_ld)
    const float** before;        // (L, rows)
    float* per_row[8];           // [columns_ld] keep, logp, value, advantage, return, V, w, live
    float* actions;              // (rows, K)
    uint8_t* mask;               // (rows, A)
    float* sampled;              // (2, BLOCK_ROWS) logprobs and values of a tick
    float* fade;                 // [T + 1]
    float highest_return;        // of the segments that it looked at
    int32_t* some;               // [BLOCK_ROWS] rows that pass through the network alone, and
    uint8_t* some_obs;           // (BLOCK_ROWS, D) what they see
    float* some_state;           // (BLOCK_ROWS, L, H_padded)
    float* some_out;             // (BLOCK_ROWS, A_padded)
} Workspace;

enum { TOTAL_ROWS, TOTAL_A, TOTAL_A2, TOTALS };    // of a minibatch: its rows with an agent, the
//                                                    sum and the squares of their advantages

typedef struct Picker {
    double (*sums)[KERNEL_SUMS];    // [N] over each segment
    int32_t* alive;                 // [alive_count] segments in which somebody lives, ascending
    int32_t* ticks;                 // [N] in which the segment's agent lives
    int32_t alive_count;
    int64_t all_ticks;              // of all segments of all ranks that are learned from
    int64_t lived;                  // likewise, of those that others play as well
    int32_t* rows;                  // [S] of this minibatch
    float* importance;              // [S]
    uint8_t* repeated;              // [S] 1: the segment was picked before in this minibatch
    uint8_t* seen;                  // [N]
    double* cdf;                    // [N]
    int32_t* segment_order;         // [N] shuffled places in `alive` of an epoch's pass
    uint64_t *keys, *spare_keys;    // [N]
    int32_t* spare;                 // [N]
    int64_t order_epoch, order_pass, deck_size;
} Picker;

typedef struct Block {    // agents that are stepped and inferred in turn
    int32_t first_env, envs, first_row, rows;
} Block;

struct PufferTrainer {
    PufferTrainerConfig config;
    PufferTrainerCounters counters;
    PufferTrainerEnvs envs;
    Policy policy;
    Matrix matrices[MAX_MATRICES];
    Rollout rollout;
    Picker picker;
    Pool* pool;
    Arena weights, gradients, optimizer, buffers, activations, plan;
    Workspace* work;    // [threads]
    int32_t work_rows, columns_ld;
    float* all_weights;           // the matrices in order, then logstd
    float* all_gradients;         // as many, then room for what travels along
    double totals[TOTALS];        // of the minibatch that is picked, over all ranks
    int64_t weight_count;         // floats of all of them
    float *adam_m, *adam_v;       // [heads.continuous]
    float* chunks[MAX_CHUNKS];    // partial gradients, in the layouts of the kernels
    double (*chunk_sums)[KERNEL_LOSSES];
    int64_t chunk_size;    // floats
    int32_t segments, chunk_count, segments_per_block;
    double* partial;    // sums of squares, in fixed ranges
    float* state;       // (N, L, H_padded) carried
    double* known;      // [4 + ranks] what all ranks know before an update begins
    int32_t* moves;     // (N) rows of an agent that the rollout has filled; NULL: all ticks are
    int64_t tick;       // of the random numbers
    Block* blocks;
    int32_t block_count, block_rows, lockstep;
    int32_t steps_are;                                // UNKNOWN, CHEAP or DEAR, beside the network
    Replay replay;                                    // of the next update
    const float *given_advantages, *given_returns;    // of the next update, or NULL
    int32_t stale;                // weights were written: the packed copies are old
    int32_t bad_row, bad_kind;    // what a worker found wrong in a rollout
    int32_t bad_final;            // 1: it is the final observation's
    int64_t bad_tick;
    int64_t allocations, bytes;
    double rollout_seconds, update_seconds;
    double born;    // seconds_now and clock_now when the trainer was made
    uint64_t born_ticks;
    Tensors tensors;
};

// ---- small things -----------------------------------------------------------------------------

static inline uint64_t clock_now(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return (uint64_t)(seconds_now() * 1e9);
#endif
}

// rows (K, n) -> panels(K, n)
static inline void pack_panels(const float* rows, int K, int n, int lanes, float* panels) {
    int two = 2 * lanes;
    for (int k = 0; k < K; k++)
        for (int j = 0; j < n; j += two)
            memcpy(panels + (int64_t)j * K + (int64_t)k * two, rows + (int64_t)k * n + j,
                   sizeof(float) * (size_t)(n - j < two ? n - j : two));
}

// What passed since the last mark was spent on this phase
static inline void mark(Workspace* work, int phase) {
    uint64_t now = clock_now();
    work->ticks[phase] += now - work->since;
    work->since = now;
}

static inline int reads_bytes(const Policy* policy) {    // the encoder's matrix
    return policy->dtype == PUFFER_U8 && !policy->seeing.count;
}

static inline int64_t obs_row_size(const Policy* policy) {    // bytes of one observation
    return policy->D * (policy->dtype == PUFFER_U8 ? 1 : 4);
}

// ---- memory.c
int32_t memory_take(PufferTrainer* trainer, Error* error);
void memory_free(PufferTrainer* trainer);

// ---- policy.c
int32_t policy_init(Policy* policy, const PufferTrainerConfig* config, Matrix* matrices,
                    Error* error);
void policy_start(PufferTrainer* trainer);    // first weights, from the seed
void policy_pack(PufferTrainer* trainer);
// rows of obs (R, D) -> work->out. state (R, L, H_padded) moves on unless new_state is NULL
void policy_step(const Policy* policy, Workspace* work, int rows, const void* obs,
                 const float* state, float* new_state);
// Bytes that are not 0, in work->where and what; 0, and not all, where they are too many to pay
int policy_find_bytes(const Policy* policy, Workspace* work, int rows, int first_row,
                      const uint8_t* obs);
void policy_encode(const Policy* policy, Workspace* work, int rows, const void* obs, float* x,
                   int sparse, int first_row);
void policy_decode(const Policy* policy, Workspace* work, int rows, const float* x);

// ---- seeing.c
int32_t seeing_init(Policy* policy, const PufferTrainerConfig* config, Error* error);
double seeing_products(const Policy* policy);    // multiply-adds of a row, the encoder's included
int64_t seeing_row(const Policy* policy);        // floats that a row of a block keeps
void seeing_plan(Policy* policy, Arena* weights);
void seeing_plan_work(const Policy* policy, Workspace* work, Arena* arena, int64_t rows, int train);
void seeing_factors(const Policy* policy, const float* obs_scale);    // -> those of the matrices
int32_t seeing_pack_items(const Policy* policy);
void seeing_pack(Policy* policy, int32_t item);
// rows of obs (R, D) -> work->seen, from its row first_row on
void seeing_forward(const Policy* policy, Workspace* work, int32_t rows, const void* obs,
                    int32_t first_row);
// work->dx of all rows of a block -> the encoder's gradient, and work->dseen; then for rows whose
// observations lie together: the gradients of convolutions
void seeing_begin_backward(const Policy* policy, Workspace* work, int32_t rows, float* dencoder);
void seeing_backward(const Policy* policy, Workspace* work, int32_t rows, const void* obs,
                     int32_t first_row, float* gradient);

// ---- games.c
int32_t games_check(const PufferTrainer* trainer, Error* error);    // attached: they fit
void games_begin(PufferTrainer* trainer);                           // a rollout
// What a tick brought to a row, then who plays on in these rows, of whole envs
void game_note(PufferTrainer* trainer, int64_t row, float reward, int lived, int over);
void games_turn(PufferTrainer* trainer, int64_t first, int64_t rows);
// The policies of rows from this one on, as in PufferGames; NULL: the trainer's plays all
static inline const int32_t* players(const PufferTrainer* trainer, int64_t first) {
    return trainer->envs.games ? trainer->envs.games->playing + first : NULL;
}
static inline int learns(const PufferTrainer* trainer, int64_t row) {
    return !trainer->envs.games || !trainer->envs.games->playing[row];
}
static inline const Policy* policy_of(const PufferTrainer* trainer, int32_t player) {
    return player ? &trainer->envs.games->others[player - 1]->policy : &trainer->policy;
}

// ---- rollout.c
int32_t rollout_plan(PufferTrainer* trainer, Error* error);

// ---- exchange.c
// Sums over all ranks, in place; with one rank nothing happens. -1 where the exchange failed
int32_t exchange_doubles(PufferTrainer* trainer, double* numbers, int64_t count, Error* error);
int32_t exchange_floats(PufferTrainer* trainer, float* numbers, int64_t count, Error* error);
// Doubles among floats that are exchanged: so many floats, filled before and read after it
int64_t exchange_room(const PufferTrainer* trainer, int count);
void exchange_spread(const PufferTrainer* trainer, const double* numbers, int count, float* room);
void exchange_collect(const PufferTrainer* trainer, const float* room, int count, double* sums);

// ---- picking.c
void list_alive(PufferTrainer* trainer);       // picker->alive, and all_ticks of this rank
double most_earned(PufferTrainer* trainer);    // highest return by rewards of this rank
void picking_begin(PufferTrainer* trainer);    // V and w of a new epoch
int32_t pick_minibatch(PufferTrainer* trainer, int32_t number, Error* error);
void sum_segments(const PufferTrainer* trainer, double sums[KERNEL_SUMS]);    // of this rank
double explained_variance(const PufferTrainer* trainer, const double sums[KERNEL_SUMS]);
double mean_return_square(const PufferTrainer* trainer, const double sums[KERNEL_SUMS]);

// ---- ppo.c
// Of the minibatch that is picked, and of this rank
void ppo_measure(const PufferTrainer* trainer, double totals[TOTALS]);
// sums: means over the minibatch, of this rank's rows; those of all ranks add up
void ppo_gradients(PufferTrainer* trainer, double ent_coef, double sums[KERNEL_LOSSES]);

// ---- muon.c
// Chunks -> gradients and their norm; these and the sums are then those of all ranks
int32_t muon_reduce(PufferTrainer* trainer, double sums[KERNEL_LOSSES], double* norm, Error* error);
void muon_step(PufferTrainer* trainer, double learning_rate, double grad_norm);
