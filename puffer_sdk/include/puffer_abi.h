/* puffer_abi.h -- what an environment library exports, and all that it exports.
 *
 *     const PufferApi* api = puffer_api();           // the one exported symbol
 *     if (api->abi_version != PUFFER_ABI_VERSION) ...
 *     PufferVec* vec = api->create(&env, &vec_settings, total_agents, num_buffers, seed,
 *                                  NULL, watch, error);
 *     for each env i:  api->bind(vec, i, &buffers_of_env_i);
 *     api->reset(vec, 0, num_envs, watch);
 *     forever: write actions;  api->step(vec, first, count, 0, watch);  read the rest
 *     api->destroy(vec, watch);
 *
 * The caller owns every buffer (so they may be pinned, shared or guarded) and brings the
 * threads: step and reset are pure functions of the range of envs that they are given.
 * Nothing here prints, exits or allocates after create. Errors are texts.
 *
 * Sizes: N agents of all envs (rows), D = obs_size, K = num_atns (heads).
 */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PUFFER_ABI_VERSION 12
#define PUFFER_ERROR_SIZE  2048    // bytes of an error text, terminator included
#define PUFFER_MAX_HEADS   128
#define PUFFER_MAX_LOG     256    // values that my_log may report

enum { PUFFER_U8 = 0, PUFFER_F32 = 1, PUFFER_I32 = 2 };    // observation types

enum {    // what a worker is doing, for whoever watches it
    PUFFER_IDLE,
    PUFFER_INIT,
    PUFFER_RESET,
    PUFFER_STEP,
    PUFFER_CLOSE,
    PUFFER_RENDER
};

// Flags of step: leave rewards, terminals and truncations uncleared; keep the final observations of
// all episodes, where the library can, and not of truncated ones alone
#define PUFFER_KEEP_REWARDS 1
#define PUFFER_ALL_FINALS   2

// A has_final_obs: there is no other use for them, as no episode is truncated
#define PUFFER_ALL_FINALS_ONLY 2

enum PufferErrorKind {
    PUFFER_FAILED,             // anything else: the text says what
    PUFFER_MISSING_KEY,        // name: the key of [env] that the binding reads
    PUFFER_MISSING_VEC_KEY,    // name: the same of [vec]
    PUFFER_NO_ENVS,            // name: the function that made none
    PUFFER_NOT_WHOLE,          // a, b: numbers near total_agents that whole envs fill, or 0
    PUFFER_NO_AGENTS,          // name: num_agents or max_agents, which is below 1
    PUFFER_BAD_SIZES,          // of observations or masks
    PUFFER_NO_MEMORY,
    PUFFER_LOG_FULL,          // name: the key of my_log that is one too many
    PUFFER_TOO_MANY_AGENTS    // a: num_agents; b: how many agents[] has room for
};

typedef struct PufferError {    // of a call that failed: programs read kind, people text
    int32_t kind;               // PufferErrorKind
    int64_t a, b;
    char name[128];
    char text[PUFFER_ERROR_SIZE];
} PufferError;

typedef struct PufferSetting {    // one key of an ini section
    const char* key;
    double value;        // of a list the first number, of a text 0
    const char* text;    // as an ini holds it; may be NULL
} PufferSetting;

typedef struct PufferSettings {
    const PufferSetting* items;    // [count]
    int32_t count;
} PufferSettings;

typedef struct PufferRange {    // of one key of [env]: what each world draws
    const char* key;
    double low, high;    // both included where `whole` is 1: then only whole numbers are drawn
    int32_t whole;
    const PufferSetting* choices;    // [num_choices] one of these, where there are any
    int32_t num_choices;
} PufferRange;

typedef struct PufferDescription {
    const char* name;                       // the env struct's name
    int32_t obs_dtype;                      // PUFFER_U8, PUFFER_F32 or PUFFER_I32
    int32_t obs_size;                       // D, elements of one agent's observation
    int32_t num_atns;                       // K, heads
    int32_t act_sizes[PUFFER_MAX_HEADS];    // [K] head widths; 1 = continuous
    int32_t mask_size;                      // bytes of one agent's action mask; 0 = none
    int32_t has_truncations;                // 1 if the env writes truncations
    int32_t has_final_obs;                  // 1 if final observations are there; or _ONLY
    int32_t has_alive;                      // 1: variable number of agents, rows may be empty
    int32_t whole_steps;                    // 1 if step takes all envs or none (MY_VEC_STEP)
    int32_t num_logs;
    const char* log_names[PUFFER_MAX_LOG];    // [num_logs]
} PufferDescription;

typedef struct PufferBuffers {     // the first row of one env in each block; rows follow it
    void* observations;            // (num_agents, D) u8, f32 or i32
    float* actions;                // (num_agents, K) head ids, or values
    float* rewards;                // (num_agents)
    float* terminals;              // (num_agents)   0 or 1
    float* truncations;            // (num_agents)   0 or 1; NULL where has_truncations is 0
    unsigned char* action_mask;    // (num_agents, mask_size); NULL where mask_size is 0
    void* final_observations;      // (num_agents, D) what a truncated episode ended with, where
    unsigned char* has_final;      // (num_agents) is 1. NULL: not wanted, or has_final_obs is 0
    unsigned char* alive;          // (num_agents) 0 where a row has no agent now; set to 1 by the
                                   // first bind. NULL: not wanted, or has_alive is 0
} PufferBuffers;

typedef struct PufferWatch {    // one per worker, perhaps on a page that a parent reads
    volatile int64_t step;      // written by the caller: ticks since the envs were created
    volatile int64_t env;       // index of the env inside its c_ function; -1: on a GPU, which
                                // plays a rollout from `step` on: the env index is unknown
    volatile int64_t seed;      // given to create; the env's own is env_seed(vec, env)
    volatile int32_t phase;     // PUFFER_IDLE outside env code
    volatile int32_t pulse;     // changes whenever a call starts or ends
} PufferWatch;

typedef struct PufferVec PufferVec;    // the envs; opaque

enum { PUFFER_NO_TEAM = -1, PUFFER_BAD_TEAM = -2 };    // of `team`

typedef struct PufferApi {
    int32_t abi_version;    // PUFFER_ABI_VERSION: check it before anything else
    int32_t struct_size;    // sizeof(PufferApi)

    // The shape of things under these [env] settings. 0, or -1 with an error
    int32_t (*describe)(const PufferSettings* env, PufferDescription* out, PufferError* error);

    // Rows of one env under these settings (max_agents, where the env has that field, else
    // num_agents), read from a scratch env after init; -1 with an error. Where the
    // binding makes all envs at once (MY_VEC_INIT), the rows of each, or 1 if they differ
    int32_t (*agents_per_env)(const PufferSettings* env, PufferWatch* watch, PufferError* error);

    // Creates envs until their agents fill num_buffers equal slices of total_agents exactly.
    // NULL with an error when they do not tile, a key is missing, or sizes differ.
    // `seed` is mixed with each env's index, so neighbours play different episodes; or env_seeds
    // [total_agents] holds what env_seed(vec, e) shall be, for each env that there may be
    PufferVec* (*create)(const PufferSettings* env, const PufferSettings* vec, int32_t total_agents,
                         int32_t num_buffers, uint64_t seed, const uint32_t* env_seeds,
                         PufferWatch* watch, PufferError* error);
    void (*destroy)(PufferVec* vec, PufferWatch* watch);    // c_close of each env

    int32_t (*num_envs)(const PufferVec* vec);
    uint32_t (*env_seed)(const PufferVec* vec, int32_t env);
    void (*rows)(const PufferVec* vec, int32_t env, int32_t* first, int32_t* count);
    void (*slice)(const PufferVec* vec, int32_t buffer, int32_t* first_env, int32_t* count);

    void (*bind)(PufferVec* vec, int32_t env, const PufferBuffers* buffers);
    void (*reset)(PufferVec* vec, int32_t first, int32_t count, PufferWatch* watch);
    void (*step)(PufferVec* vec, int32_t first, int32_t count, int32_t flags, PufferWatch* watch);

    // Sums of the logs of these envs since the last call, then cleared. Returns n, the number
    // of log entries; out[num_logs] gets what my_log reports for their mean (untouched if n is 0)
    double (*collect_log)(PufferVec* vec, int32_t first, int32_t count, double* out);
    // The same for each of [count] envs alone: n[count], out[count][num_logs]
    void (*collect_logs)(PufferVec* vec, const int32_t* envs, int32_t count, int32_t num_logs,
                         double* n, double* out);

    void (*render)(PufferVec* vec, int32_t env, PufferWatch* watch);

    void* (*env_struct)(PufferVec* vec, int32_t env);    // for the checker
    int64_t (*env_struct_size)(void);

    // What copies of these envs that play elsewhere have logged: the sums of each field of Log, n
    // the last. The next collect_log that takes env 0 counts it as well. Doubles, since a sum over
    // many envs is more than a float holds: n is exact below 2^53
    void (*add_log)(PufferVec* vec, const double* sums);    // [log_fields()]
    int32_t (*log_fields)(void);                            // floats in a Log

    // bind of each env to blocks in which the rows of one follow those of the env before. `all`
    // points to the first rows; first_row[e] gets the first row of env e, and the last the end
    void (*bind_all)(PufferVec* vec, const PufferBuffers* all, int64_t* first_row);    // [envs + 1]

    // Makes one env anew, with `seed` as its own: what follows is what an env plays that was
    // created with it. The old one gets its c_close unless `abandon`; what it has logged and
    // nobody collected goes with it. 0, or -1 with an error: then the old one plays on
    int32_t (*renew)(PufferVec* vec, int32_t env, const PufferSettings* settings, uint32_t seed,
                     int32_t abandon, PufferWatch* watch, PufferError* error);

    // step of the envs in this range whose waits[env] is 0. The rewards and endings of the
    // others become 0, and nothing else of theirs changes. Not where whole_steps is 1
    void (*step_others)(PufferVec* vec, int32_t first, int32_t count, int32_t flags,
                        const unsigned char* waits, PufferWatch* watch);

    // The team of an agent of an env, once its reset has run: what team[agent] holds, what a line
    // `puffer: teams` says, agents[agent].policy, or the agent's slot under MY_USES_PERM.
    // PUFFER_NO_TEAM where nothing says it, PUFFER_BAD_TEAM where what is said does not fit
    int32_t (*team)(const PufferVec* vec, int32_t env, int32_t agent);

    // The author's scripted opponent, of a level that only the author knows. c_bot writes the
    // actions of one agent; puf_set_bot_policy tells an env which one shall play the seats that
    // have no rows. Each is NULL where the author has written none, and returns 1
    int32_t (*bot)(PufferVec* vec, int32_t env, int32_t agent, int32_t level, PufferWatch* watch);
    int32_t (*set_bot)(PufferVec* vec, int32_t env, int32_t level);

    // Other settings for these envs, in place of those that still wait. In the step in which each
    // agent that lives has ended an episode since then, or in a reset, an env is made anew, with a
    // seed that follows from its own; agents in the middle of a later episode are truncated. Once;
    // with ranges, whose keys the settings have as well, again and again. Texts and choices are
    // not copied. 0, or -1 with an error. Not while envs are stepped
    int32_t (*change)(PufferVec* vec, int32_t first, int32_t count, const PufferSettings* settings,
                      const PufferRange* ranges, int32_t num_ranges, PufferError* error);
    // Envs that wait for that, or -1 with the first error where one could not be made: the old one
    // plays on
    int32_t (*waiting)(const PufferVec* vec, PufferError* error);
} PufferApi;

const PufferApi* puffer_api(void);

#ifdef __cplusplus
}
#endif
