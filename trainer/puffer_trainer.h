/* puffer_trainer.h -- the native trainer, as Python and C see it.
 *
 *     PufferTrainer* trainer = puffer_trainer_create(&config, &error);
 *     puffer_trainer_attach(trainer, &envs, &error);      // envs that have been reset
 *     while (puffer_trainer_counters(trainer)->epoch < config.total_epochs) {
 *         puffer_trainer_rollout(trainer, &error);        // T ticks of all agents
 *         puffer_trainer_update(trainer, &losses, &error);    // learn from them
 *     }
 *     puffer_trainer_destroy(trainer);
 *
 * It only computes: no file, no terminal, no signal. A function that can fail returns
 * 0, or -1 with a PufferTrainerError filled in. Programs read its kind, people its text.
 * After a failed update the weights are those of the last good minibatch, unless it was its step
 * that made them bad.
 *
 * Sizes: N agents, T horizon, D observation, H hidden, L layers, K heads, A sum of head widths,
 * S segments of a minibatch. A segment is one agent's T ticks of a rollout.
 *
 * The same config and envs give the same bytes, whatever `threads` and `block_agents` are.
 *
 * Several ranks, each a process with its own trainer, can share a run: each plays its part of the
 * agents and learns from its part of every minibatch. They add up what they counted and their
 * gradients (PufferExchange), then all make the same step, so no weight is ever sent.
 *
 * Two libraries export this: the CPU trainer, and the CUDA trainer, whose numbers live on the GPU.
 * Comments mark what belongs to only one of them.
 */
#pragma once
#include <stdint.h>
#include "puffer_abi.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PUFFER_TRAINER_VERSION  12    // of this header: create refuses another
#define PUFFER_TRAINER_DIMS     3
#define PUFFER_TRAINER_PHASES   24
#define PUFFER_MAX_GPUS         16
#define PUFFER_MAX_PARTS        16
#define PUFFER_MAX_CONVOLUTIONS 8
#define PUFFER_MAX_CHANNELS     64

enum {    // instruction sets; 0 takes the best that the CPU has
    PUFFER_PATH_AUTO,
    PUFFER_PATH_GENERIC,
    PUFFER_PATH_AVX2,
    PUFFER_PATH_AVX512,
    PUFFER_PATH_NEON
};

enum { PUFFER_FP32, PUFFER_BF16 };    // number formats of the matrix products

enum PufferTrainerErrorKind {
    PUFFER_TRAINER_FAILED,           // anything else: the text says what
    PUFFER_TRAINER_OUT_OF_MEMORY,    // of the host or of the GPU
    PUFFER_TRAINER_NO_THREADS,       // the system starts no more
    PUFFER_TRAINER_NO_BF16,          // this CPU or GPU, or this instruction set, lacks the products
    PUFFER_TRAINER_NO_LEGAL_ACTION,    // an action mask is zero for a whole head
    PUFFER_TRAINER_BAD_ENV_DATA,       // NaN or infinity in observations or rewards
    PUFFER_TRAINER_BAD_NUMBER,         // NaN or infinity in what the trainer computed
    PUFFER_TRAINER_OVERFLOW,       // all tensors are finite, the loss or the gradient norm is not
    PUFFER_TRAINER_GPU_STOPPED,    // a kernel failed on the GPU
    PUFFER_TRAINER_GPU_ENV_FAILED,     // an env on the GPU failed, or cannot run there
    PUFFER_TRAINER_GPU_ENV_HEAP,       // malloc of envs on the GPU is used up, outside of c_step
    PUFFER_TRAINER_GPU_STEP_HEAP,      // the same, in a rollout
    PUFFER_TRAINER_EXCHANGE_FAILED,    // the callback returned -1: whoever owns it knows why
    PUFFER_TRAINER_GPU_BUSY            // another process has the GPU to itself
};

enum { PUFFER_SUM_DOUBLES, PUFFER_SUM_FLOATS };    // what an exchange adds up

// Adds `count` numbers at `data` over all ranks, in place: each rank then has the same bits.
// Returns 0, or -1 where that failed. Called by the thread that called update
typedef int32_t (*PufferExchange)(void* about, int32_t kind, void* data, int64_t count);

typedef struct PufferTrainerError {    // of a call that failed
    int32_t kind;                      // PufferTrainerErrorKind
    int32_t head;                      // of NO_LEGAL_ACTION: the head
    int64_t row, element;              // of BAD_ENV_DATA: the agent, -1 = unknown; of its
                                       // observation, -1 = its reward
    float value;                       // of BAD_ENV_DATA: what it wrote
    char text[PUFFER_ERROR_SIZE];      // for people: "what" or "what\twhere"
} PufferTrainerError;

typedef struct PufferConvolution {    // no padding, no bias; ends in max(0, x)
    int32_t filters, kernel, stride;
} PufferConvolution;

// Elements of an observation that the encoder takes together: (height, width, channels), through
// convolutions. Features: their outputs by row, column and filter; without convolutions, the cells
typedef struct PufferPart {
    int32_t first;                       // element of the row
    int32_t height, width, channels;     // kernels fit; of a list: things, 1, numbers of each
    int32_t planes;                      // 1: the row has (channels, height, width)
    int32_t has_ids;                     // 1: `ids` holds; not of planes
    int32_t ids[PUFFER_MAX_CHANNELS];    // [channels] 0: a number. Else that channel is one of so
                                         // many ids, and becomes as many numbers: a 1 among zeros
    int32_t mask;                        // the channel that is not 0 where there is a thing, or -1
    int32_t pooled;                      // 1: the maximum of each filter over things that are there
    int32_t num_convolutions;
    PufferConvolution convolutions[PUFFER_MAX_CONVOLUTIONS];
} PufferPart;

typedef struct PufferTrainerConfig {
    int32_t version;        // PUFFER_TRAINER_VERSION
    int32_t struct_size;    // sizeof(PufferTrainerConfig)

    int32_t agents;                         // N, this rank's part
    int32_t horizon;                        // T; 0 makes a trainer that can only act
    int32_t obs_dtype;                      // PUFFER_U8, PUFFER_F32 or PUFFER_I32
    int32_t obs_size;                       // D
    int32_t num_atns;                       // K
    int32_t act_sizes[PUFFER_MAX_HEADS];    // [K] head widths; 1 = continuous
    int32_t has_masks;                      // 1 if envs come with action masks of A bytes an agent
    int32_t has_waits;                      // 1: a mask of zeros is that of an agent that waits for
                                            // others; 0: it is an error
    int32_t has_final_obs;                  // 1 if they come with final observations
    int32_t has_alive;                      // 1: variable number of agents
    int32_t hidden_size;                    // H
    int32_t num_layers;                     // L
    int32_t num_parts;                      // CPU: of an observation, by their first elements; the
    PufferPart parts[PUFFER_MAX_PARTS];     // encoder sees the other numbers, then their features
    int32_t minibatch_size;                 // S * T, this rank's part

    int32_t threads;         // workers, the caller's thread among them
    int32_t block_agents;    // agents that a worker steps and infers in turn; 0 = auto: few
                             // only where a step takes longer than the network
    int32_t path;            // PUFFER_PATH_
    int32_t precision;       // PUFFER_FP32 or PUFFER_BF16
    int32_t reset_state;     // zero the recurrent state before every rollout
    int32_t norm_adv;        // normalise advantages over the minibatch
    int32_t norm_returns;    // the unit of values follows the returns
    int32_t anneal_lr, anneal_ent_coef;    // let these fall along a cosine
    int32_t minibatch_carry;    // 0: an epoch has whole minibatches, at least 1, and the rest is
                                // lost, as in PufferLib

    int32_t gpus;                        // CUDA: so many share the agents and each minibatch
    int32_t devices[PUFFER_MAX_GPUS];    // CUDA: [gpus] their numbers
    int32_t num_buffers;    // CUDA: slices of equal size; one steps while another infers.
                            // Dealt to the GPUs in order, as minibatches' segments are
    int32_t async;          // CUDA: 1: learn from a rollout while the next one runs, which
                            // then acts with the weights of one update ago
    int32_t timed;          // CUDA: 1: time every kernel by itself, without graphs
    int32_t envs_on_gpu;    // CUDA: 1: envs with a program will come, and their malloc gets its
                            // heap now

    uint64_t seed;          // below 2^56
    int64_t first_agent;    // global number of the first row

    int32_t ranks, rank;        // CPU: so many processes share the run, and which one this is
    PufferExchange exchange;    // with ranks > 1: how they add up
    void* about;                // its first argument
    int64_t total_epochs;       // what schedules run over

    const float* obs_scale;    // [D] the encoder learns as if each number of an observation were
                               // multiplied by its factor; its weights take observations as they
                               // are. Copied; NULL: 1
    double learning_rate, min_lr_ratio, ent_coef, min_ent_coef_ratio;
    double gamma, gae_lambda, vtrace_rho_clip, vtrace_c_clip, reward_clip;
    double replay_ratio, prio_alpha, prio_beta0;
    double clip_coef, vf_coef, vf_clip_coef;
    double max_grad_norm, beta1, beta2, eps;
    double target_kl;    // 0: the learning rate does not depend on it
} PufferTrainerConfig;

typedef struct PufferTrainer PufferTrainer;

enum { PUFFER_LOST, PUFFER_DREW, PUFFER_WON, PUFFER_RESULTS };    // a game, for this trainer

// Who plays which row, where other policies do. Each row is this trainer's for good, which learns
// from it, or others'. A game of an env is over when every agent that it has had has ended an
// episode; the side with the larger mean return has won it. CPU
typedef struct PufferGames {
    PufferTrainer* const* others;    // [num_others] with horizon 0, and networks of the same size
    int32_t num_others;
    const int32_t* next;      // [N] who plays it from the env's next game on: 0 = this trainer,
                              // which it stays; i = others[i - 1]
    int32_t* playing;         // [N] who plays it now
    unsigned char* had;       // [N] 1: there has been an agent in this game
    unsigned char* over;      // [N] 1: it has ended an episode
    double* won;              // [N] its rewards in this game
    int64_t (*results)[3];    // [num_others][PUFFER_RESULTS] games that ended against each
} PufferGames;

typedef struct PufferTrainerEnvs {    // created by an environment library, bound to these buffers
    const PufferApi* api;
    PufferVec* vec;
    int32_t num_envs;
    int32_t whole_steps;           // 1: every step takes all envs
    const int64_t* first_row;      // [num_envs + 1] rows of env i: first_row[i] to [i + 1]
    void* observations;            // (N, D)
    float* actions;                // (N, K)
    float* rewards;                // (N)
    float* terminals;              // (N)
    float* truncations;            // (N)
    unsigned char* action_mask;    // (N, A), or NULL
    void* final_observations;      // (N, D), or NULL: as in PufferBuffers, and so is the next
    unsigned char* has_final;      // (N)
    unsigned char* alive;          // (N), or NULL: likewise
    PufferWatch* watches;          // [threads]
    int64_t ticks;                 // that the envs have made already
    void* block;                   // whole pages that hold only observations and actions,
    int64_t block_bytes;           // so that a GPU can read there; or NULL
    const char* program;           // CUDA: these envs as kernels (env_program.h): copies of them,
                                   // from the same settings and seeds, play on the GPU, and the
                                   // buffers stay as they are. NULL: threads step the envs here
    const PufferSettings* settings;    // [env], where there is a program
    const PufferGames* games;          // CPU: NULL: the trainer plays all rows
} PufferTrainerEnvs;

typedef struct PufferTrainerCounters {    // what a resumed run needs besides the tensors
    int64_t epoch;                        // updates done
    int64_t global_step;                  // agent steps of all ranks, those of empty rows too
    int64_t optimizer_steps;
    double minibatch_carry;    // the fraction of a minibatch that the last epoch left over; 0
                               // without config.minibatch_carry
    double return_rms;         // root mean square of returns, the unit of values; 0: nothing was
                               // measured yet, and the unit is 1
    double rate_factor;        // of the learning rate, to keep config.target_kl; 0: before the
                               // first update
    double highest_return;     // that rewards brought so far, at least 0: V at a time limit counts
                               // for no more
} PufferTrainerCounters;

typedef struct PufferTrainerLosses {    // of one update, means over its minibatches
    int32_t minibatches;                // 0: replay_ratio is small, nothing else below is set
    double policy, value, entropy, old_approx_kl, approx_kl, clipfrac;
    double return_square;              // mean square of the returns, in the unit that values had
    double explained_variance;         // of the rollout's values, before the first minibatch
    double highest_return;             // that its rewards brought
    double grad_norm;                  // before clipping
    double learning_rate, ent_coef;    // that held
    int64_t reward_clipped;            // rewards of the rollout beyond reward_clip
    int64_t alive;                     // agent steps of the rollout, empty rows left out
} PufferTrainerLosses;

enum {                   // what a tensor is
    PUFFER_WEIGHT,       // encoder (H, D), layers.i (3H, H), decoder (A + 1, H), logstd
    PUFFER_OPTIMIZER,    // muon.NAME, adam.m.NAME, adam.v.NAME
    PUFFER_ROLLOUT       // obs (N, T, D), actions (N, T, K), log_probs, values, ...
};

typedef struct PufferTrainerTensor {    // memory that stays where it is; CUDA: a copy of it
    const char* name;
    void* data;
    int32_t kind;     // PUFFER_WEIGHT, PUFFER_OPTIMIZER or PUFFER_ROLLOUT
    int32_t dtype;    // PUFFER_U8, PUFFER_F32 or PUFFER_I32
    int32_t dims;
    int64_t shape[PUFFER_TRAINER_DIMS];
    int64_t strides[PUFFER_TRAINER_DIMS];    // in bytes
} PufferTrainerTensor;

typedef struct PufferTrainerStats {
    double seconds[PUFFER_TRAINER_PHASES];    // of all workers together, since the last call
    double rollout, update;    // seconds that the two calls took, since the last call
    int64_t allocations;       // blocks of memory taken since the trainer began to be made
    int64_t bytes;             // that they hold
    int32_t threads;
    int32_t path;                    // the PUFFER_PATH_ in use
    int32_t block_agents, blocks;    // how the agents are cut in a rollout
    int32_t lockstep;                // 1: all agents tick together (whole_steps, or few envs)
} PufferTrainerStats;

typedef struct PufferTrainerDevice {    // of the CUDA trainer
    char name[128];                     // "NVIDIA H100 80GB HBM3"
    int32_t major, minor;               // compute capability
    int32_t driver, runtime;            // versions of CUDA, 1000 major + 10 minor
    int32_t emulated;                   // 1: no GPU, but its work done on the CPU
    int32_t gpus;                       // like this one, the first of them
    int32_t envs_on_gpu;                // 1: the envs run there too
    int64_t memory, used;               // bytes of the GPU, and that this trainer took of them
    int64_t stack;                      // bytes of a thread's, if the envs there recurse, or 0
    char unpinned[64];                  // CUDA's reason for copying the envs' rows twice, or ""
} PufferTrainerDevice;

typedef struct PufferTrainerKernel {    // of the CUDA trainer with `timed`
    const char* name;
    int64_t calls;
    double seconds;
    double bytes;    // read and written
    double flops;    // of matrix products
} PufferTrainerKernel;

PufferTrainer* puffer_trainer_create(const PufferTrainerConfig* config, PufferTrainerError* error);
void puffer_trainer_destroy(PufferTrainer* trainer);

// The envs to play from now on, freshly reset; the carried state is zeroed. Nothing is owned
int32_t puffer_trainer_attach(PufferTrainer* trainer, const PufferTrainerEnvs* envs,
                              PufferTrainerError* error);

int32_t puffer_trainer_rollout(PufferTrainer* trainer, PufferTrainerError* error);
// With `async` the losses are those of the update before; finish returns those of the last one
int32_t puffer_trainer_update(PufferTrainer* trainer, PufferTrainerLosses* losses,
                              PufferTrainerError* error);
int32_t puffer_trainer_finish(PufferTrainer* trainer, PufferTrainerLosses* losses,
                              PufferTrainerError* error);

// The next update takes these segments and weights instead of picking: (minibatches, S) both.
// They are copied. For parity tests and experiments
void puffer_trainer_replay(PufferTrainer* trainer, const int32_t* rows, const float* importance,
                           int32_t minibatches);

// The next update learns from these advantages and returns, (N, T) both, in all its minibatches, and
// computes none. They are not copied: they stay until it returns. Only the CPU trainer takes them
int32_t puffer_trainer_give(PufferTrainer* trainer, const float* advantages, const float* returns,
                            PufferTrainerError* error);

// The advantages (N, T) that the next minibatch would see, and the segments and weights that it
// would pick from them: rows[S], importance[S]. Segments in which nobody lives are never picked
int32_t puffer_trainer_advantages(PufferTrainer* trainer, float* out, PufferTrainerError* error);
int32_t puffer_trainer_pick(PufferTrainer* trainer, const float* advantages, int32_t minibatch,
                            int32_t* rows, float* importance, PufferTrainerError* error);

// One tick without envs: obs (N, D), mask (N, A) or NULL -> actions (N, K); log_probs (N) and
// values (N) where not NULL. The state moves on, the tick counts up. greedy: likeliest actions.
// Only the CPU trainer acts without training; the CUDA trainer refuses
int32_t puffer_trainer_act(PufferTrainer* trainer, const void* obs, const unsigned char* mask,
                           int32_t greedy, float* actions, float* log_probs, float* values,
                           PufferTrainerError* error);
void puffer_trainer_ended(PufferTrainer* trainer,
                          const float* terminals);                     // (N) zero their state
void puffer_trainer_reset_state(PufferTrainer* trainer);               // zero everybody's
void puffer_trainer_set_tick(PufferTrainer* trainer, int64_t tick);    // of act's random numbers

// CUDA: brings the tensors of this kind here, as they are after all that was asked for; tensors of
// a rollout are listed from the first time on. The CPU trainer's are here already
int32_t puffer_trainer_fetch(PufferTrainer* trainer, int32_t kind, PufferTrainerError* error);
// Tensor number `index`: 1 and filled in, or 0 when there are no more
int32_t puffer_trainer_tensor(PufferTrainer* trainer, int32_t index, PufferTrainerTensor* out);
// Call it after writing to a weight or to the optimiser's tensors; CUDA: to any, once fetched and
// before anything else
void puffer_trainer_touch(PufferTrainer* trainer);

PufferTrainerCounters* puffer_trainer_counters(PufferTrainer* trainer);    // may be written to
void puffer_trainer_stats(PufferTrainer* trainer, PufferTrainerStats* out);
const char* puffer_trainer_phase(int32_t index);    // name of stats.seconds[index], or NULL

// CUDA: 1 and filled in, 0 when there are no more; the CPU trainer answers 0
int32_t puffer_trainer_device(PufferTrainer* trainer, PufferTrainerDevice* out);
int32_t puffer_trainer_kernel(PufferTrainer* trainer, int32_t index, PufferTrainerKernel* out);
// CUDA: what this GPU reaches at best: bytes/s of a copy, read and written; FLOP/s of a product
void puffer_trainer_peaks(PufferTrainer* trainer, double* copy_rate, double* product_rate);

const char* puffer_trainer_path_name(int32_t path);     // "generic", "avx2", "avx512", "neon"
int32_t puffer_trainer_path_available(int32_t path);    // 1 if this library and CPU have it
// Best GFLOP/s of our tile on products of a training run, with so many terms and columns. bf16: of a
// layer, which has three times as many terms as columns; other products stay in fp32
double puffer_trainer_matmul_rate(int32_t path, int32_t precision, int32_t threads, int32_t terms,
                                  int32_t columns, double seconds);
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
