/* shared.h -- what the CPU trainer and the CUDA trainer have in common.
 *
 *     config.c     settings refused, heads, schedules, first weights
 *     tensors.c    memory that callers may look at, by name
 *     faults.c      which tensor holds the first bad number
 *     replay.c     segments that an update is given, for parity tests
 *     arena.c      memory in one piece         pool.c   a team of threads
 *
 * Sizes as in puffer_trainer.h and kernels.h: N T D H L K A S.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "kernels/kernels.h"
#include "trainer/puffer_trainer.h"

#define MAX_LAYERS       64
#define MAX_CONVOLUTIONS (PUFFER_MAX_PARTS * PUFFER_MAX_CONVOLUTIONS)
#define MAX_MATRICES     (MAX_LAYERS + 2 + MAX_CONVOLUTIONS)
#define MAX_TENSORS      (2 * MAX_MATRICES + 24)

// (N, T, ...) a row holds what belongs to one agent and move: to one tick, unless the agent waits.
// The ticks of one that waits have no rows: what they bring belongs to its move before
typedef struct Rollout {
    void* obs;           // (N, T, D) u8, f32 or i32
    float* actions;      // (N, T, K)
    float* played;       // (N, T, K) what the envs were given on each tick; NULL: `actions`
    float* logprobs;     // (N, T)
    float* values;       // (N, T) V when it was acted
    float* rewards;      // (N, T) caused by the action, unclipped
    float* ended;        // (N, T) 1 where that ended the episode
    float* truncated;    // (N, T) 1 where a time limit did, 2 where its value is in `final_values`
    float*
        final_values;    // (N, T) V of the last observation of an episode; NULL without has_final_obs
    float* live;         // (N, T) 0 where the row holds no move: no agent, or beyond the last
                         // move of one that waited; NULL without has_alive and has_waits
    float* bootstrap;     // (N) V after the last tick
    float* state0;        // (N, L, H_padded) before the first tick
    uint8_t* masks;       // (N, T, A) or NULL
    float* values_now;    // (N, T) V and w as of the last minibatch that saw the row
    float* ratio_now;     // (N, T)
    float* advantages;    // (N, T)
    float* returns;       // (N, T) A + V, both of when the minibatch began
} Rollout;

// ---- small things -----------------------------------------------------------------------------

static inline int64_t round_up(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

double seconds_now(void);

typedef PufferTrainerError Error;

// Both fill in the error and return -1. fail: PUFFER_TRAINER_FAILED
int32_t fail(Error* error, const char* format, ...) __attribute__((format(printf, 2, 3)));
int32_t fail_as(Error* error, int32_t kind, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// ---- config.c ---------------------------------------------------------------------------------

int32_t config_check(const PufferTrainerConfig* config, Error* error);
void heads_init(Heads* heads, const PufferTrainerConfig* config);

// A weight matrix as its field writes it down is (fan_out, fan_in); the encoder is stored
// transposed, as convolutions are. Uniform in +-gain / sqrt(fan_in), times `factors` [fan_in]
// unless NULL: sqrt(2) for the encoder, which is number 0; little for the decoder, number L + 1,
// so that the first policy is nearly even; sqrt(6) for convolutions, which come after it
void matrix_start(float* weight, const PufferTrainerConfig* config, int number, int fan_out,
                  int fan_in, const float* factors);

static inline int32_t segments_per_minibatch(const PufferTrainerConfig* config) {    // S
    return config->horizon ? config->minibatch_size / config->horizon : 0;
}
static inline int has_live(const PufferTrainerConfig* config) {    // rows may hold no move
    return config->has_alive || config->has_waits;
}
static inline int64_t agents_of_all(const PufferTrainerConfig* config) {    // ranks
    return (int64_t)config->agents * config->ranks;
}
double minibatches_per_epoch(const PufferTrainerConfig* config);    // their fraction is carried on

double learning_progress(const PufferTrainerConfig* config, const PufferTrainerCounters* counters);

// What holds in this update, in `losses`: schedules, and how many minibatches there are, with the
// fraction left over carried on. So many segments, and agent steps, are there to learn from
void losses_begin(PufferTrainerLosses* losses, const PufferTrainerConfig* config,
                  PufferTrainerCounters* counters, int64_t segments, int64_t alive);

// What rewards are multiplied by: values are in units of return_rms
float reward_scale(const PufferTrainerCounters* counters);
// In that unit: the most that V at a time limit counts for
float highest_value(const PufferTrainerCounters* counters);
// After the update of this epoch: return_rms moves towards the returns that it learned from, and
// rate_factor to where its KL divergence would have been target_kl; highest_return may grow
void counters_follow(const PufferTrainerConfig* config, PufferTrainerCounters* counters,
                     const PufferTrainerLosses* losses, int64_t epoch);

// ---- tensors.c --------------------------------------------------------------------------------

typedef struct Tensors {    // weights of the matrices come first, in their order
    PufferTrainerTensor items[MAX_TENSORS];
    int32_t count;
} Tensors;

void tensors_matrix(Tensors* tensors, const char* name, int kind, float* data, int fan_out,
                    int fan_in, int transposed);
void tensors_vector(Tensors* tensors, const char* name, int kind, float* data, int64_t count);
// rollout NULL: only the state. H_padded: floats from one layer's state to the next
void tensors_rollout(Tensors* tensors, const PufferTrainerConfig* config, int A, int H_padded,
                     float* state, const Rollout* rollout);

// ---- replay.c ---------------------------------------------------------------------------------

typedef struct Replay {
    int32_t* rows;        // (count, S) segments of the next update's minibatches
    float* importance;    // (count, S)
    int32_t count;        // 0: it picks for itself
} Replay;

void replay_set(Replay* replay, const int32_t* rows, const float* importance, int32_t minibatches,
                int32_t segments);    // copied; without memory for it: 0
void replay_free(Replay* replay);

// ---- faults.c ----------------------------------------------------------------------------------

enum { FINE, BAD_OUTPUT, BAD_REWARD, BAD_MASK };    // as CUDA_BAD_ has them

typedef struct BadRow {    // where a rollout met the first bad number
    int32_t kind;
    int32_t final;    // 1: obs is the last one of an episode that was cut off
    int64_t row, tick;
    const void* obs;        // [D] of this row and tick, or NULL if it is no longer known
    const uint8_t* mask;    // [A]
    float reward;
    const float* state;    // [state_size]
    int64_t state_size;
} BadRow;

// The first head of which a mask allows nothing; heads->count: there is none
int32_t empty_head(const Heads* heads, const uint8_t* mask);

// Each fills in the error that names the first bad number, and returns -1. fault_weights: 0 where
// the weights are finite
int32_t fault_weights(const Tensors* tensors, const char* where, Error* error);
int32_t fault_rollout(const Tensors* tensors, const PufferTrainerConfig* config, const Heads* heads,
                      const BadRow* bad, Error* error);
// gradients: [matrices] laid out as the weights
int32_t fault_update(const Tensors* tensors, int matrices, const float* const* gradients,
                     int64_t epoch, Error* error);
