/* contract.h -- the contract of every CUDA kernel that is not a matrix product.
 *
 * Products are cuBLASLt's; what stands between them is here, fused so that an activation is read
 * and written once. A kernel is launched with its arguments by value. Whatever changes while a
 * program runs lies in device memory (CudaTick, CudaSchedule, CudaResults), so that a captured
 * graph freezes none of it.
 *
 * Every result has the same bits for any grid and any block of at most CUDA_THREADS threads: sums
 * have a fixed number of parts and one order. The arithmetic is that of arithmetic.h; on the host,
 * through shim.h, results of single rows have the bits of the generic CPU kernels.
 *
 * Sizes: N agents, T horizon, D observation, H hidden, L layers, K heads, A sum of head widths,
 * S segments of a minibatch, R rows of a product (agents of a slice, or S T). A launch goes over
 * less than 2^31 numbers. Arrays are plain row-major:
 *
 *     x, h            (R, H)      activations, states
 *     products        (R, 3 H)    hid, gate, proj of a row in order; and their gradients
 *     out             (R, ldo)    logits, then the value; columns beyond A are for the products
 *     state           (N, L, H)   as the CPU trainer has it, and so are the rollout's arrays:
 *     rollout         (N, T, ...) [segment][t]
 *     weights         in order, as the CPU trainer has them; gradients, moments alike
 *
 * `narrow` is a bf16 copy for products, `wide` a float one; where either may be NULL it is not
 * written. Names of arrays: `d` is the gradient of what follows it.
 */
#pragma once
#include <stdint.h>
#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_THREADS 256    // of a block at most
#ifndef CUDA_RESIDENT
#define CUDA_RESIDENT 2    // of such blocks on a multiprocessor at least: 128 registers a thread,
#endif                     // of which no kernel spills any; ptxas by itself takes fewer, and spills
#define CUDA_LANES    256     // parts of a sum within a block
#define CUDA_BUCKET   128     // keys that a block of segments_shuffle puts in order, about
#define CUDA_BIN      144     // and how many of them at a time
#define CUDA_SEGMENTS 32      // segments of a block of advantages_compute
#define CUDA_TICKS    32      // ticks of them that it holds at a time
#define CUDA_ROWS     128     // rows of a loss whose sums are one part
#define CUDA_CHUNK    4096    // weights whose squares are one part
#define CUDA_TOTALS   3       // numbers that a GPU says of its part of a minibatch

enum { CUDA_U8, CUDA_F32, CUDA_I32 };    // number formats of observations, as in puffer_trainer.h
enum { CUDA_BAD_OUTPUT = 1, CUDA_BAD_REWARD, CUDA_BAD_MASK, CUDA_BAD_FINAL };

// The kernels, what they take, and what their threads or blocks are spread over
#define CUDA_KERNELS(X)                                                                            \
    X(tick_begin, TickBeginArgs)                 /* elements */                                    \
    X(tick_next, TickNextArgs)                   /* one thread */                                  \
    X(final_obs_keep, FinalObsKeepArgs)          /* elements */                                    \
    X(gates_step, GatesStepArgs)                 /* elements: rows H */                            \
    X(heads_sample, HeadsSampleArgs)             /* elements: rows */                              \
    X(final_values_store, FinalValuesStoreArgs)  /* elements: rows */                              \
    X(live_count, LiveCountArgs)                 /* elements: N */                                 \
    X(epoch_begin, EpochBeginArgs)               /* elements */                                    \
    X(advantages_compute, AdvantagesComputeArgs) /* blocks: count / CUDA_SEGMENTS */               \
    X(segments_shuffle, SegmentsShuffleArgs)     /* blocks: passes N / CUDA_BUCKET */              \
    X(priorities_sum, PrioritiesSumArgs)         /* one block */                                   \
    X(segments_pick, SegmentsPickArgs)           /* elements: S */                                 \
    X(repeats_find, RepeatsFindArgs)             /* elements: S */                                 \
    X(batch_measure, BatchMeasureArgs)           /* one block */                                   \
    X(ranks_measure, RanksMeasureArgs)           /* one thread */                                  \
    X(obs_gather, ObsGatherArgs)                 /* elements: S T ldw */                           \
    X(scan_forward, ScanForwardArgs)             /* elements: S H */                               \
    X(scan_backward, ScanBackwardArgs)           /* elements: S H */                               \
    X(heads_loss, HeadsLossArgs)                 /* blocks: S T / CUDA_ROWS */                     \
    X(columns_sum, ColumnsSumArgs)               /* blocks: columns */                             \
    X(parts_add, PartsAddArgs)                   /* elements */                                    \
    X(squares_sum, SquaresSumArgs)               /* blocks: chunks */                              \
    X(update_decide, UpdateDecideArgs)           /* one thread */                                  \
    X(muon_momentum, MuonMomentumArgs)           /* blocks: chunks */                              \
    X(muon_measure, MuonMeasureArgs)             /* blocks: matrices */                            \
    X(muon_normalise, MuonNormaliseArgs)         /* blocks: chunks */                              \
    X(muon_apply, MuonApplyArgs)                 /* blocks: chunks */                              \
    X(adam_step, AdamStepArgs)                   /* elements */                                    \
    X(floats_narrow, FloatsNarrowArgs)           /* elements */                                    \
    X(bad_find, BadFindArgs)                     /* elements */

// ---- what changes from launch to launch: in device memory --------------------------------------

typedef struct CudaTick {    // comes with the observations of a tick
    uint64_t seed, step;     // of the random numbers
    int32_t t;               // 0 to T; at T only the value is wanted: no state moves
    int32_t greedy;          // the likeliest action; no number is drawn
} CudaTick;

typedef struct CudaSchedule {    // comes before a minibatch; all of it is made on the host
    uint64_t seed, epoch;
    int32_t number;      // of the minibatch in its epoch
    int32_t segments;    // to pick from, with a variable number of agents
    float ent_coef;
    double learning_rate;
    double prio_beta;
    float reward_scale;                // of clipped rewards
    float highest_value;               // of V at a time limit
    double first_bias, second_bias;    // Adam's 1 - beta^steps
} CudaSchedule;

typedef struct CudaResults {         // what the device computed of a minibatch
    float mean, scale;               // A^ = importance (A - mean) scale
    float clip;                      // gradients times this
    int32_t stop;                    // a loss or the norm is not finite: no weight moves any more
    int32_t minibatches;             // that moved the weights since the host zeroed this
    int32_t live;                    // rows of the minibatch with an agent; at least 1
    double norm;                     // of the gradient, before clipping
    double losses[KERNEL_LOSSES];    // means over the minibatch
    double loss_sums[KERNEL_LOSSES + 1];    // losses and norm, added over those minibatches
} CudaResults;

// A fault is one number, and the least of all stays: t << 40 | row << 8 | CUDA_BAD_; none: all bits
typedef uint64_t CudaFault;

typedef struct CudaMatrix {    // a weight matrix, among all weights
    int64_t offset;
    int32_t rows, cols;             // as stored
    int32_t first_chunk, chunks;    // no chunk holds weights of two matrices
    double ratio;                   // sqrt(max(1, fan_out / fan_in))
} CudaMatrix;

typedef struct CudaChunk {    // at most CUDA_CHUNK neighbours among all weights
    int64_t first;
    int32_t count;
    int32_t matrix;    // -1: a vector, which Adam moves
} CudaChunk;

// ---- rollout: a slice of `rows` agents, the first of which is row `first` of the rollout --------

// Keeps the last observation of an episode that a time limit ended, with the state that tick_begin
// is about to zero, in the agent's next slot: its value is computed at the end of the rollout
typedef struct FinalObsKeepArgs {
    const CudaTick* tick;
    int32_t rows, first, N, T, D, size, slots;    // size: L H; slots: of each agent
    int32_t obs_dtype;
    const void* final_obs;       // (rows, D)
    const float* truncations;    // [rows] of tick t - 1, and so is the next
    const uint8_t* has_final;    // [rows] 1: that row of final_obs is one
    const float* live;           // (N, T) 0 where the row had no agent; NULL: all had one
    const float* ended;          // (N, T), read where there are moves
    const int32_t* moves;        // (N) rows that an agent has filled; NULL: those of t ticks
    const int32_t* counts;       // (N) slots in use until now: tick_begin adds this one
    const float* state;          // (N, L, H)
    void* kept_obs;              // (slots, N, D)
    float* kept_state;           // (slots, N, L, H)
    int32_t* kept_ticks;         // (slots, N)
} FinalObsKeepArgs;

// Files what the last tick caused, zeroes the state where it ended an episode, takes a snapshot of
// the state at t = 0, and keeps and converts the observations. A row without an agent is given
// nothing, sees zeros, and has come to an end: whatever the env left there. An agent whose mask is all
// zeros waits: it has no row, and what ticks bring until its next move is added to that of its last
typedef struct TickBeginArgs {
    const CudaTick* tick;
    int32_t rows, first, T, D, A, size;    // size: L H
    int32_t obs_dtype, reset_state;
    const void* obs;         // (rows, D)
    const float* rewards;    // [rows] of tick t - 1, and so are these
    const float* terminals;
    const float* truncations;
    const uint8_t* has_final;    // NULL: there are no final observations
    const uint8_t* alive;        // [rows] 0: no agent at tick t. NULL: all have one, and so is
    const float* live;           // (N, T) whether they had one when they acted
    const uint8_t* mask;         // (rows, A), or NULL, and so are the next two
    const int32_t* moves;        // (N) rows that an agent has filled: heads_sample adds this one
    uint8_t* waits;              // (N) 1: it cannot act at tick t
    int32_t slots;               // as final_obs_keep has them
    int32_t* counts;             // (N), or NULL
    float* state;                // (N, L, H)
    float* state0;               // (N, L, H)
    void* stored_obs;            // (N, T, D)
    float* stored_rewards;       // (N, T)
    float* ended;                // (N, T) 1 where that ended the episode
    float* truncated;    // (N, T) 1 where a time limit did, 2 where final_obs_keep kept the end
    int32_t ldw;         // columns beyond D are zeroed
    float* wide;         // (rows, ldw) for the encoder's product, or NULL
    uint16_t* narrow;    // (rows, ldw), or NULL
    CudaFault* fault;
} TickBeginArgs;

// The next tick begins: after the last kernel that reads this one
typedef struct TickNextArgs {
    CudaTick* tick;
} TickNextArgs;

// Gates and highway of one tick and layer. state: of this layer, rows lds apart; moves on if t < T, but
// for agents that wait
typedef struct GatesStepArgs {
    const CudaTick* tick;
    int32_t rows, H, T, lds;
    const uint8_t* waits;     // [rows], or NULL: none does
    const float* products;    // (rows, 3 H)
    const float* x;           // (rows, H)
    float* state;             // (rows, lds)
    float* out;               // (rows, H)
    uint16_t* narrow;         // (rows, H) or NULL
} GatesStepArgs;

// Actions of one tick, drawn with the CPU's numbers; at t = T only the value, as the bootstrap.
// The envs are given 0 for an action that is not finite: they run before the host sees the fault.
// Rows without an agent get zeros, and masks of ones
typedef struct HeadsSampleArgs {
    const CudaTick* tick;
    const Heads* heads;
    int32_t rows, first, T, ldo;
    uint32_t first_agent;     // the global number of row 0 of this slice
    const float* out;         // (rows, ldo)
    const float* logstd;      // [continuous]
    const uint8_t* mask;      // (rows, A) legal actions, or NULL
    const uint8_t* alive;     // [rows] 0: no agent. NULL: all have one
    const uint8_t* waits;     // (N) 1: it cannot act. NULL: all can
    int32_t* moves;           // (N) rows that an agent has filled, with `waits`
    float* actions;           // (rows, K) for the envs
    float* stored_actions;    // (N, T, K)
    float* logprobs;          // (N, T) joint over heads
    float* values;            // (N, T)
    uint8_t* stored_masks;    // (N, T, A), or NULL
    float* live;              // (N, T) 1, or 0 where a row holds no move; or NULL
    float* bootstrap;         // (N)
    CudaFault* fault;
} HeadsSampleArgs;

// V of what one slot of each agent keeps, for the tick that it is of
typedef struct FinalValuesStoreArgs {
    int32_t rows, first, T, A, ldo, slot;
    const float* out;         // (rows, ldo)
    const int32_t* counts;    // (N)
    const int32_t* ticks;     // (N) of this slot
    float* final_values;      // (N, T)
    CudaFault* fault;
} FinalValuesStoreArgs;

// ---- picking: before every minibatch ----------------------------------------------------------

// Ticks of each segment that had an agent: the host lists the segments that had one at all
typedef struct LiveCountArgs {
    int32_t N, T;
    const float* live;    // (N, T)
    int32_t* ticks;       // (N)
} LiveCountArgs;

// Before the first one: V and w are those of the rollout, rewards that will be clipped are counted,
// and the highest return that rewards brought is found
typedef struct EpochBeginArgs {
    int32_t count, T;     // N T
    float reward_clip;    // 0: none is
    float gamma;
    const float* values;    // (N, T) and so on
    const float* rewards;
    const float* ended;
    const float* truncated;
    float* values_now;    // as values
    float* ratio_now;     // 1
    uint64_t* clipped;    // [1] is added to
    uint64_t* highest;    // [1] the least of the inverted bits of returns
} EpochBeginArgs;

// Advantages and returns of segments, and sums over each; its weight to be drawn if asked for
typedef struct AdvantagesComputeArgs {
    int32_t count, T;
    const CudaResults* results;    // after a stop all stays as it is; or NULL
    const CudaSchedule* schedule;
    const int32_t* which;       // [count] segments, or NULL: all, 0 to count - 1
    const uint8_t* repeated;    // [count] 1: leave it out; NULL with `which`
    const float* rewards;       // (N, T) and so on
    const float* values;        // as of now
    const float* ratio;
    const float* ended;
    const float* truncated;       // 0, 1 or 2: as f_delta says
    const float* final_values;    // (N, T), or NULL where no 2 is
    const float* bootstrap;       // (N)
    const float* live;            // (N, T) 0 where a row holds no move; NULL: all do
    float gamma, gae_lambda, rho_clip, c_clip, reward_clip;    // reward_clip 0 = off
    double prio_alpha;                                         // 0: no weights
    float* advantages;                                         // (N, T)
    float* returns;                                            // (N, T)
    double* sums;                                              // (N, KERNEL_SUMS)
    double* weights;                                           // (N) (sum |A|)^alpha + 1e-6
} AdvantagesComputeArgs;

// Laps of an epoch, all segments in each, in an order of their own: the CPU trainer's. With a
// variable number of agents the passes are shorter, and more of them fit
typedef struct SegmentsShuffleArgs {
    const CudaSchedule* schedule;
    int32_t N, passes;
    uint32_t first;           // what the random numbers call segment 0
    const int32_t* living;    // [schedule->segments] of the N, ascending; NULL: all
    int32_t* orders;          // (passes, N)
} SegmentsShuffleArgs;

// cdf[i] = weights[0] + ... + weights[i], in CUDA_LANES parts; of segments that live, where not all
// do
typedef struct PrioritiesSumArgs {
    const CudaSchedule* schedule;
    int32_t N;
    const int32_t* living;    // as segments_shuffle has it
    const double* weights;    // (N)
    double* cdf;              // (N)
} PrioritiesSumArgs;

// Dealt from the orders, or where those are NULL drawn with replacement. Where nobody lives: any
typedef struct SegmentsPickArgs {
    const CudaSchedule* schedule;
    int32_t N, S, passes;
    uint32_t first;           // what the random numbers call the first draw
    const int32_t* living;    // as segments_shuffle has it
    const int32_t* orders;    // (passes, N), or NULL
    const double* weights;    // (N)
    const double* cdf;        // (N)
    int32_t* rows;            // [S]
    float* importance;        // [S]
} SegmentsPickArgs;

typedef struct RepeatsFindArgs {
    int32_t S;
    const int32_t* rows;    // [S]
    uint8_t* repeated;      // [S] 1: the segment was picked before in this minibatch
} RepeatsFindArgs;

// Mean and scale of the picked advantages; 0 and 1 unless norm_adv. Rows without an agent, whose
// advantage is 0, do not count
typedef struct BatchMeasureArgs {
    int32_t S, T, norm_adv;
    const int32_t* rows;     // [S]
    const int32_t* ticks;    // (N) live ones, or NULL: T
    const double* sums;      // (N, KERNEL_SUMS)
    double* totals;          // [CUDA_TOTALS] sums of A and A^2 and how many, which ranks_measure
    CudaResults* results;    // goes on from; or NULL, and these get mean, scale and live
} BatchMeasureArgs;

// The same over the minibatches of several GPUs, which together are one
typedef struct RanksMeasureArgs {
    int32_t ranks, norm_adv;
    const double* totals;    // (ranks, CUDA_TOTALS)
    CudaResults* results;    // mean, scale, live
} RanksMeasureArgs;

typedef struct ObsGatherArgs {
    int32_t S, T, D, ldw, obs_dtype;
    const int32_t* rows;    // [S], or NULL: 0 to S - 1
    const void* obs;        // (N, T, D)
    float* wide;            // (S T, ldw) columns beyond D are zeroed; or NULL
    uint16_t* narrow;       // (S T, ldw), or NULL
} ObsGatherArgs;

// ---- training ---------------------------------------------------------------------------------

// A layer over whole segments. before: h before row 0 of segment i is before[rows[i] * stride]
typedef struct ScanForwardArgs {
    int32_t S, T, H;
    int64_t stride;           // L H
    const int32_t* rows;      // [S]
    const float* ended;       // (N, T)
    const float* before;      // state0 of this layer
    const float* products;    // (S T, 3 H)
    const float* x;           // (S T, H)
    float* h;                 // (S T, H)
    float* out;               // (S T, H)
    uint16_t* narrow;         // (S T, H) or NULL
} ScanForwardArgs;

// dx holds d out, and in the end d x only through the highway
typedef struct ScanBackwardArgs {
    int32_t S, T, H;
    int64_t stride;
    const int32_t* rows;
    const float* ended;
    const float* before;
    const float* products;    // (S T, 3 H)
    const float* x;           // (S T, H)
    const float* h;           // (S T, H)
    float* dx;                // (S T, H)
    float* dproducts;         // (S T, 3 H), which may be products; or NULL
    uint16_t* narrow;         // (S T, 3 H) of the same, or NULL
} ScanBackwardArgs;

// Row s T + t of `out` is tick t of segment rows[s]. Gradients are of the mean over the minibatch's
// rows with an agent, on all GPUs; rows without one have V = 0, w = 1 and no gradient
typedef struct HeadsLossArgs {
    const CudaSchedule* schedule;    // ent_coef
    const CudaResults* results;      // mean, scale, live
    const Heads* heads;
    int32_t S, T, ldo;
    const int32_t* rows;        // [S]
    const float* importance;    // [S]
    const uint8_t* repeated;    // [S]
    const float* out;           // (S T, ldo)
    const float* logstd;        // [continuous]
    const uint8_t* masks;       // (N, T, A), or NULL
    const float* actions;       // (N, T, K)
    const float* logprobs;      // (N, T) these two: the rollout's
    const float* values;
    const float* advantages;    // (N, T)
    const float* returns;       // (N, T)
    const float* live;          // (N, T) 0: no agent; NULL: all have one
    float clip_coef, vf_coef, vf_clip_coef;
    float* values_now;    // (N, T) V and w of these rows from now on
    float* ratio_now;
    float* dout;              // (S T, ldo) columns beyond A are zeroed; or NULL
    uint16_t* narrow;         // (S T, ldo), or NULL
    float* slopes;            // (S T, continuous) scratch
    double* parts;            // (S T / CUDA_ROWS rounded up, KERNEL_LOSSES)
    double* dlogstd_parts;    // (S T / CUDA_ROWS rounded up, continuous)
} HeadsLossArgs;

// sums[j] = parts[0, j] + parts[1, j] + ..., in CUDA_LANES lanes
typedef struct ColumnsSumArgs {
    int32_t parts_count, columns;
    const double* parts;    // (parts_count, columns)
    double* sums;           // [columns] or NULL
    float* floats;          // [columns] the same, or NULL
} ColumnsSumArgs;

// sums[i] = source[i] + source[stride + i] + ..., in this order: a product that was made in parts
typedef struct PartsAddArgs {
    int32_t count, parts;
    int32_t D, H;              // the first D H sums are the encoder's
    int64_t stride;            // from part to part
    const float* source;       // (parts, stride)
    const float* obs_scale;    // [D] factors of the encoder's rows, or NULL
    float* sums;               // [count]
} PartsAddArgs;

// ---- update -----------------------------------------------------------------------------------

typedef struct SquaresSumArgs {
    int32_t chunks;
    const CudaChunk* chunk;    // [chunks]
    const float* x;            // all weights' gradients
    double* parts;             // [chunks]
} SquaresSumArgs;

// The norm is clipped; a loss or a norm that is not finite stops all updates to come. Losses become
// means over results->live rows
typedef struct UpdateDecideArgs {
    double max_grad_norm;
    const double* squares;    // [1]
    const double* losses;     // [KERNEL_LOSSES] sums over rows
    CudaResults* results;
} UpdateDecideArgs;

// m = mu m + clip g; u = clip g + mu m, and the squares of u. Chunks of vectors are left out
typedef struct MuonMomentumArgs {
    const CudaResults* results;
    int32_t chunks;
    float mu;
    const CudaChunk* chunk;
    const float* gradient;
    float* momentum;
    float* update;
    double* parts;    // [chunks]
} MuonMomentumArgs;

typedef struct MuonMeasureArgs {
    int32_t matrices;
    const CudaMatrix* matrix;    // [matrices]
    const double* parts;         // [chunks] squares
    float* factors;              // [matrices] 1 / max(|u|, 1e-7)
} MuonMeasureArgs;

typedef struct MuonNormaliseArgs {
    int32_t chunks;
    const CudaChunk* chunk;
    const float* factors;    // [matrices]
    const float* update;
    float* wide;         // u / |u|, laid out as weights; or NULL
    uint16_t* narrow;    // or NULL
} MuonNormaliseArgs;

// W -= learning_rate ratio X
typedef struct MuonApplyArgs {
    const CudaSchedule* schedule;
    const CudaResults* results;
    int32_t chunks, D, H;
    const CudaChunk* chunk;
    const CudaMatrix* matrix;
    const float* obs_scale;    // [D] factors of the rows of matrix 0, the encoder (D, H); or NULL
    const float* X;            // orthogonalised, laid out as weights
    float* weights;
    uint16_t* narrow;    // all weights in bf16, or NULL
} MuonApplyArgs;

typedef struct AdamStepArgs {
    const CudaSchedule* schedule;
    const CudaResults* results;
    int32_t count;
    double beta2, eps;
    const float* gradient;    // [count]
    float* m;
    float* v;
    float* weights;
} AdamStepArgs;

typedef struct FloatsNarrowArgs {
    int32_t count;
    const float* x;
    uint16_t* narrow;
} FloatsNarrowArgs;

// The first NaN or infinity, if there is one before *where
typedef struct BadFindArgs {
    int32_t count;
    const float* x;
    uint64_t* where;
} BadFindArgs;

// ---- calls, in a library made of kernels.cu ------------------------------------------------

enum { CUDA_SHIM, CUDA_DEVICE };    // what runs the kernels

// Runs kernel `number` of CUDA_KERNELS and waits for it: 0, or -1 for what cannot be launched. The
// shim takes threads and blocks in an order of its own: 0 forward, 1 backward, else shuffled
int32_t cuda_run(int32_t number, const void* args, int32_t blocks, int32_t threads, int32_t order);
// The same in a stream (a cudaStream_t; the shim has none and is done at once), and nobody waits:
// what CUDA has against it is left for cudaGetLastError
int32_t cuda_launch(int32_t number, const void* args, int32_t blocks, int32_t threads,
                    void* stream);
// CUDA loads a kernel when it is first called: all of them now. 0, or a cudaError_t
int32_t cuda_load(void);
const char* cuda_kernel_name(int32_t number);    // NULL after the last
int64_t cuda_args_size(int32_t number);          // bytes that its arguments take; -1 likewise
int32_t cuda_kind(void);                         // CUDA_SHIM or CUDA_DEVICE
int32_t cuda_devices(void);                      // 1 for the shim; 0 where no GPU can be used
void* cuda_take(int64_t bytes);    // memory that host and kernels see; NULL: none left
void cuda_give(void* memory);

#ifdef __cplusplus
}
#endif
