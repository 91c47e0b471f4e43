/* internal.h -- what the files of the CUDA trainer share. Each calls only those above it:
 *
 *     device.h      what a GPU must do (device/cuda/device.cc, device/emulated/device.cc)
 *     record.c      clock, failures, and calls that become a graph
 *     memory.c      every size, and one allocation for each kind of memory
 *     ranks.c       several GPUs: open, wait, exchange
 *     mirror.c      copies of weights and rollouts on the host, for callers
 *     finish.c      the end of an update: losses, or the first bad number
 *     envs.c        envs that play on the GPU: start, step, logs, faults
 *     rollout.c     T ticks of all agents, a slice of them at a time
 *     picking.c     advantages, and which segments the next minibatch takes
 *     learning.c    one minibatch: forward, loss, backward, Muon
 *     update.c      an epoch of minibatches
 *     trainer.c     create, attach, stats: the rest of the C ABI
 *
 * All numbers live on the GPU; kernels and layouts are those of cuda/contract.h. The host writes
 * what changes into pinned memory, gives the calls of an epoch to streams and waits at its end.
 *
 * Sizes as in puffer_trainer.h: N T D H L K A S; M = S T rows of a minibatch, R rows of a slice.
 */
#pragma once
#include "trainer/device/device.h"
#include "trainer/device/env_program.h"
#include "trainer/common/arena.h"
#include "trainer/common/pool.h"
#include "trainer/common/shared.h"

#define MAX_SLICES  64
#define SPREAD      128                     // blocks that a small launch is cut into, if it can be
#define MOST_PARTS  64                      // of a gradient
#define PARTS_BYTES ((int64_t)256 << 20)    // that they take, where there is more than one
#define ENVS_PREFIX "puffer_envs_"          // of a program's kernels
#define MUON_GROUPS 3                       // matrices of one shape: encoder, layers, decoder

enum {    // what the host's time is spent on
    PHASE_ENV,
    PHASE_HAND_OVER,
    PHASE_AWAIT,
    PHASE_LAUNCH,
    PHASE_UPDATE,
    PHASE_UPDATE_AWAIT,
    PHASES
};

typedef struct Matrix {         // a weight matrix, its gradient, its momentum, Muon's update
    int32_t rows, cols;         // as stored; the encoder is stored transposed, (D, H)
    int32_t fan_in, fan_out;    // columns and rows of the matrix that the field writes down
    int64_t offset;             // among all weights
    char label[32], momentum_label[40];
} Matrix;

typedef struct MuonGroup {    // Newton-Schulz on matrices of one shape, in a stream
    int32_t first, count;     // matrices
    int32_t tall;             // rows > cols: G = X^T X, and X P; else G = X X^T, and P X
    float *G, *P;             // (count, side, side), side = min(rows, cols)
    Product *gram, *square, *apply;
    Stream* stream;
    Event* done;
} MuonGroup;

typedef struct Recorded {    // calls that are done one by one the first time, then captured
    Graph* graph;
    int32_t runs;
} Recorded;

typedef struct Inbox {    // what a slice hands over before a tick, in one piece
    CudaTick* tick;
    float* rewards;    // [R] of the tick before, and so are these
    float* terminals;
    float* truncations;
    uint8_t* mask;         // (R, A), or NULL
    uint8_t* has_final;    // [R], or NULL, and so is the next
    uint8_t* alive;
} Inbox;

typedef struct Copies {       // of a slice's envs, on the GPU
    char* structs;            // (envs, facts.env_bytes)
    char* spares;             // (envs, facts.spare_bytes), or NULL
    uint8_t* spare_marks;     // (R, A + 1), or NULL
    uint32_t* rand_states;    // [envs]
    int64_t* first_row;       // [envs + 1] among the slice's rows
    double* logs;             // (envs, facts.log_fields)
    EnvFault* fault;          // its envs are the slice's
    double* logs_here;        // pinned, and so is the next
    EnvFault* fault_here;
} Copies;

typedef struct Slice {    // agents that tick together
    struct Rank* rank;
    int32_t first_env, envs, first_row;    // of all agents
    Stream* stream;
    Inbox here, there;    // pinned, on the GPU
    size_t inbox_bytes;
    void* obs_copy;          // (R, D) pinned; where the envs' own memory is not
    float* actions_copy;     // (R, K)
    const void* obs_from;    // what is uploaded: the envs' rows, or the copy
    float* actions_to;
    void* obs;           // (R, D) on the GPU, and so are these
    void* final_obs;     // (R, D) the final observations that there are; NULL without has_final_obs
    float* wide;         // (R, ldw) fp32, or
    uint16_t* narrow;    // (R, ldw) bf16
    float* x;            // (R, H)
    uint16_t* x_narrow;    // (R, H) bf16
    float* products;       // (R, 3 H)
    float* out;            // (R, ldo)
    float* actions;        // (R, K)
    CudaFault* fault;
    CudaFault* fault_here;          // pinned
    Recorded ticks[2], lasts[2];    // for each rollout buffer; lasts: without a step of envs
    Copies copies;                  // where envs play on the GPU
    Event* played;
} Slice;

typedef struct Buffers {         // of a minibatch; l counts layers
    int32_t* rows;               // [S] segments
    float* importance;           // [S]
    uint8_t* repeated;           // [S]
    float* wide;                 // (M, ldw) fp32, or
    uint16_t* narrow;            // (M, ldw) bf16
    float* x[MAX_LAYERS + 1];    // (M, H)
    uint16_t* x_narrow[MAX_LAYERS + 1];
    float* h[MAX_LAYERS];           // (M, H)
    float* products[MAX_LAYERS];    // (M, 3 H), then their gradients
    uint16_t* dproducts_narrow;     // (M, 3 H)
    float* out;                     // (M, ldo)
    float* dout;                    // (M, ldo)
    uint16_t* dout_narrow;          // (M, ldo)
    float* dx;                      // (M, H)
    uint16_t* dx_narrow;            // (M, H)
    float* slopes;                  // (M, continuous)
    double* loss_parts;             // (M / CUDA_ROWS, KERNEL_LOSSES)
    double* dlogstd_parts;          // (M / CUDA_ROWS, continuous)
    double* losses;                 // [KERNEL_LOSSES]
    float* gradient_parts;          // (parts, weight_count)
    double* squares;                // [chunks]
    double* square;                 // [1]
    float* factors;                 // [L + 2]
} Buffers;

// What a rollout keeps of episodes that a time limit ended; all NULL without has_final_obs
typedef struct KeptFinalObs {
    void* obs;               // (slots, N, D)
    float* state;            // (slots, N, L, H)
    int32_t* ticks;          // (slots, N)
    int32_t* counts;         // [N] slots in use
    int32_t* counts_here;    // [N] pinned
} KeptFinalObs;

typedef struct Picker {
    double* sums;            // (N, KERNEL_SUMS)
    double* weights;         // (N)
    double* weights_here;    // (N) pinned; where callers bring advantages
    double* cdf;             // (N)
    int32_t* orders;         // (passes, N); NULL where segments are drawn
    int32_t passes;
    int32_t* ticks;          // (N) with an agent; NULL, like the next three, without live
    int32_t* ticks_here;     // (N) pinned
    int32_t* living;         // [living_count] segments in which somebody lives, ascending
    int32_t* living_here;    // (N) pinned
    int32_t living_count;    // of the epoch
} Picker;

typedef struct Report {    // what an update found out, from the GPU
    CudaResults results;
    double sums[KERNEL_SUMS];    // over all segments, before the first minibatch
    uint64_t clipped, bad_weight;
    uint64_t highest;    // return: as epoch_begin has it
} Report;

typedef struct Exchange {    // what each rank has and all get
    char* all;               // (ranks, bytes) on the GPU; a rank writes its own row
    size_t bytes;
} Exchange;

typedef struct Worker {    // clock ticks by phase
    uint64_t ticks[PHASES], since;
    char apart[64];    // a line of its own
} Worker;

enum { ENVS_FACTS, ENVS_START, ENVS_STEP, ENVS_LOG, ENVS_CLOSE, ENVS_KERNELS };

// One GPU's share: some slices, their rollouts, and a copy of the weights. Each learns from its own
// part of a minibatch, and what they found is added up in the order of ranks
typedef struct Rank {
    PufferTrainer* trainer;
    int32_t number, first_row;    // its agents are first_row to first_row + trainer->N
    Device* device;
    Arena memory, pinned;    // of the GPU, of both
    float* weights;          // all of them, on the GPU, and so are the next
    uint16_t* weights_narrow;
    float* acting;    // the weights that act: these, or with `async` a copy
    uint16_t* acting_narrow;
    float *gradients, *momentum, *update, *X, *Y;    // as weights; momentum of logstd is Adam's m
    float* adam_v;                                   // [continuous]
    CudaMatrix* matrix_table;                        // [L + 2]
    float* obs_scale;                                // [D], or NULL
    CudaChunk* chunk_table;                          // [chunk_count]
    Heads* heads_there;
    float* state;           // (N, L, H) carried
    int32_t* moves;         // (N) rows that the rollout has filled; NULL, like the next, without
    uint8_t* waits;         // (N) has_waits. 1: the agent cannot act on this tick
    Rollout rollouts[2];    // the second only with `async`; the last four are shared
    KeptFinalObs kept_final_obs;
    Picker picker;
    Buffers batch;
    Exchange totals, losses, shares;    // with several ranks
    Program* program;                   // where envs play on the GPU, and so are the next
    int32_t env_kernels[ENVS_KERNELS];
    Arena env_memory, env_pinned;
    EnvSetting* env_settings;
    EnvFacts* env_facts;
    CudaTick* first_tick;                       // pinned; the GPU counts on from it
    CudaSchedule *schedule, *schedules_here;    // of a minibatch; [minibatches] pinned
    Report *report, *report_here;

    struct {
        Product *encode, *layer, *decode;
    } tick, train;
    Product *decoder_dw, *decoder_dx, *layer_dw, *layer_dx, *encoder_dw;
    MuonGroup groups[MUON_GROUPS];
    Slice* slices;     // [trainer->slices] of trainer->all_slices
    Stream* stream;    // of updates
    Event *weights_ready, *fork, *updated, *wrote;
    Recorded pick_first[2], pick_later[2], learn[2], step;
} Rank;

struct PufferTrainer {
    PufferTrainerConfig config;
    PufferTrainerCounters counters;
    PufferTrainerEnvs envs;
    Heads heads;
    int32_t N, slices;    // agents and slices of a rank
    int32_t S, M;         // segments and rows of a rank's part of a minibatch
    int32_t D, H, L, K, A, R;
    int32_t final_slots;      // of each agent
    int32_t ldw, ldo;         // of observations for products, of logits with value
    int32_t narrow, parts;    // 1: bf16 products; partial gradients of a minibatch
    Matrix matrices[MAX_LAYERS + 2];
    int64_t vectors, weight_count;       // floats before logstd, and of all weights
    int32_t chunk_count, minibatches;    // at most in an epoch
    Rank ranks[PUFFER_MAX_GPUS];         // [config.gpus]
    Slice* all_slices;                   // [config.num_buffers] in the order of ranks
    Pool* pool;
    Worker* workers;    // [threads]
    Arena host;

    int32_t turn;                // the rollout buffer of the next rollout
    int32_t learning;            // 1: an update is under way
    int32_t passed_on;           // 1: with `async`, the next rollout has the other buffer already
    PufferTrainerLosses done;    // of the update before, which nobody was told yet; or 0
    PufferTrainerLosses pending;    // of that update: what the host knows already
    int64_t pending_epoch;
    int32_t acts_anew;      // 1: `acting` has to become what `weights` are
    int64_t tick_number;    // of the random numbers
    Replay replay;          // of the next update

    float *weights_here, *momentum_here, *adam_v_here;    // what callers see, if fetched
    float* state_here;
    Rollout rollout_here;
    void* rollout_block;    // NULL before the first fetch of a rollout
    Tensors tensors;
    int32_t fetched;                     // 1: weights here are those there
    int32_t rollout_fetched;             // 1: the rollout here is the one there
    int32_t touched, rollout_touched;    // 1: what is here is newer
    int32_t lost;                        // 1: weights were written to that were older
    int32_t direct;                      // 1: copies go straight to the envs' memory
    int32_t playing;                     // 1: envs were started on the GPU
    char* program_path;                  // of the program that is open, or NULL
    int32_t env_room, setting_room;      // that there is memory for: envs of a slice, settings
    int32_t setting_count;
    EnvFacts env_facts;
    double* log_sums;    // [log_fields]
    int64_t heap;        // bytes that malloc of envs may give
    int64_t stack;       // bytes of a thread of envs that recurse, or 0
    int64_t allocations, bytes;
    double rollout_seconds, update_seconds;
};

// ---- small things -----------------------------------------------------------------------------

static inline size_t obs_bytes(const PufferTrainer* trainer, int64_t rows) {
    return (size_t)(rows * trainer->D) * (trainer->config.obs_dtype == PUFFER_U8 ? 1 : 4);
}

// What a product reads: bf16 where there is that
static inline const void* operand(const float* wide, const uint16_t* narrow) {
    return narrow ? (const void*)narrow : (const void*)wide;
}

// A matrix as products read it; acting: of the weights that act
static inline const void* layer_weights(const Rank* rank, int matrix, int acting) {
    int64_t offset = rank->trainer->matrices[matrix].offset;
    if (rank->trainer->narrow)
        return (acting ? rank->acting_narrow : rank->weights_narrow) + offset;
    return (acting ? rank->acting : rank->weights) + offset;
}

// Parts that a gradient is made in, each of whole segments. Products over few rows fill no GPU, so
// there are few; those of a large network fill one even so, and its parts would fill the memory
static inline int32_t gradient_parts(int32_t segments, int64_t weights) {
    int64_t parts = PARTS_BYTES / ((int64_t)sizeof(float) * weights);
    if (parts > MOST_PARTS) parts = MOST_PARTS;
    if (parts > segments) parts = segments;
    while (parts > 1 && segments % parts) parts--;
    return parts > 1 ? (int32_t)parts : 1;
}

// A kernel's threads are spread over elements, or its blocks over parts. Few elements make small
// blocks: a GPU has a hundred multiprocessors, and one that has no block waits for the others
static inline void each(Stream* stream, int32_t kernel, const void* args, int64_t elements) {
    int32_t threads = CUDA_THREADS;
    while (threads > 32 && elements < (int64_t)threads * SPREAD) threads /= 2;
    int64_t blocks = (elements + threads - 1) / threads;
    stream_launch(stream, kernel, args,
                  (int32_t)(blocks > 4096 ? 4096
                            : blocks < 1  ? 1
                                          : blocks),
                  threads);
}

static inline void blocks(Stream* stream, int32_t kernel, const void* args, int64_t parts) {
    stream_launch(stream, kernel, args,
                  (int32_t)(parts > 65535 ? 65535
                            : parts < 1   ? 1
                                          : parts),
                  CUDA_THREADS);
}

#define EACH(stream, NAME, elements, ARGS, ...)                                                    \
    each(stream, KERNEL_##NAME, &(ARGS){__VA_ARGS__}, elements)
#define BLOCKS(stream, NAME, parts, ARGS, ...)                                                     \
    blocks(stream, KERNEL_##NAME, &(ARGS){__VA_ARGS__}, parts)

#define EACH_RANK(trainer, rank)                                                                   \
    for (Rank* rank = (trainer)->ranks; rank < (trainer)->ranks + (trainer)->config.gpus; rank++)

// ---- record.c
uint64_t clock_now(void);                // nanoseconds
void mark(Worker* worker, int phase);    // adds the time since the last mark to this phase
int32_t error_kind(int32_t fault);       // of a DEVICE_ fault
// -1 and the error of the first device that failed
int32_t device_failed(const PufferTrainer* trainer, Error* error);
// The calls one by one the first time and when they are timed, else as a graph
typedef void (*Calls)(Rank* rank, Stream* stream, void* about);
void run_recorded(Rank* rank, Stream* stream, Recorded* recorded, Calls calls, void* about);

// ---- memory.c
int32_t memory_take(PufferTrainer* trainer, Error* error);
void memory_free(PufferTrainer* trainer);
// All that the arena plans, in one block
int32_t arena_take(Rank* rank, Arena* arena, void* (*take)(Device*, size_t), Error* error);
int32_t mirror_rollout(PufferTrainer* trainer, Error* error);    // room for it on the host

// ---- ranks.c
int32_t ranks_open(PufferTrainer* trainer, Error* error);    // devices, streams, events
void ranks_close(PufferTrainer* trainer);
int32_t ranks_wait(PufferTrainer* trainer, Error* error);          // for the streams of updates
void* exchange_own(const Rank* rank, const Exchange* exchange);    // the row that a rank writes
// All ranks get what each wrote; what they are given from now on comes after it
void exchange_totals(PufferTrainer* trainer);
void exchange_gradients(PufferTrainer* trainer);    // and losses

// ---- mirror.c
void keep_acting(Rank* rank);    // copies the weights to those that act
int32_t touched_upload(PufferTrainer* trainer, Error* error);    // while no update runs
int32_t weights_fetch(PufferTrainer* trainer, Error* error);
int32_t rollout_fetch(PufferTrainer* trainer, int turn, Error* error);
int32_t everything_fetch(PufferTrainer* trainer, int turn, Error* error);

// ---- finish.c
// Waits for the update under way, if there is one
int32_t update_finish(PufferTrainer* trainer, PufferTrainerLosses* losses, Error* error);
int32_t weights_upload(PufferTrainer* trainer, Error* error);    // what callers wrote

// ---- envs.c
int32_t envs_start(PufferTrainer* trainer, Error* error);    // after slices know their envs
// Closes those that were started. It reads nothing that attach was given, which may be freed
int32_t envs_leave(PufferTrainer* trainer, Error* error);
void envs_step(Slice* slice);
void envs_watch(PufferTrainer* trainer, int32_t phase);    // what the GPU's envs do while we wait
void envs_collect(Slice* slice);                           // copies logs and faults to the host
// -1 if an env failed. stepping: 1 in a rollout
int32_t envs_check(const PufferTrainer* trainer, int stepping, const char* when, Error* error);
void envs_add_logs(PufferTrainer* trainer);

// ---- rollout.c
int32_t slices_attach(PufferTrainer* trainer, Error* error);

// ---- picking.c
// What there is to learn from in a rollout: segments in which somebody lives, and ticks of agents
typedef struct Living {
    int64_t segments, ticks;
} Living;
int32_t list_living(PufferTrainer* trainer, int turn, Living* out, Error* error);
void begin_epoch(Rank* rank, const Rollout* rollout);    // the report begins anew
void pick_minibatch(Rank* rank, int turn, int32_t number);

// ---- learning.c
void learn_minibatch(PufferTrainer* trainer, int turn);
int32_t products_open(Rank* rank, Error* error);
void products_warm(Rank* rank);    // once, after products_open; what it writes is written again
