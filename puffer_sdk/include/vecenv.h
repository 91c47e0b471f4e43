/* vecenv.h -- turns one environment into a library of many. Included by binding.c, last.
 *
 * Before it, binding.c includes the environment's header and defines
 *
 *     Env              the env struct                     #define Env Squared
 *     OBS_SIZE         elements of one observation; may be an expression over `env`
 *     ACT_SIZES        head widths, 1 = continuous        {9, 5}
 *     OBS_TENSOR_T     ByteTensor, FloatTensor, IntTensor or PrecisionTensor
 *     NUM_ATNS         heads; optional, counted from ACT_SIZES when absent
 *
 * and after it two functions:
 *
 *     void my_init(Env* env, Dict* kwargs)     reads [env], sets num_agents, allocates
 *     void my_log(Log* log, Dict* out)         names what is reported; log holds means
 *
 * Optional macros, before it (PufferLib 4.0's names): MY_VEC_INIT, MY_VEC_CLOSE, MY_VEC_STEP,
 * MY_VEC_STEP_RANGE, MY_ACTION_MASK; MY_SHARED, MY_SHARED_CLOSE, MY_GET, MY_PUT do nothing.
 *
 * What it exports is in puffer_abi.h. What it does not do: threads, files, printing.
 */
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PUFFER_APPLY    // a binding by hand: what PufferLib's vecenv.h brings along
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#endif
#include "puffer_dict.h"
#include "puffer_minmax.h"

#ifdef __cplusplus
#define PUFFER_ASSERT(test, text) static_assert(test, text)
#else
#define PUFFER_ASSERT(test, text) _Static_assert(test, text)
#endif

#ifdef PUFFER_READ    // which fields there are is not known yet
#define PUFFER_NO_RNG
#endif
#undef c_reset    // of puffer_final.h and pufferenv.h: the author's c_reset is behind us
#ifdef PUFFER_OWN_NAMES
#undef my_init
#undef c_step
#undef c_render
#undef c_close
#undef my_log
#endif
#if defined(PUFFER_OBSERVE) || defined(PUFFER_HAS_FINALS)
#define PUFFER_FINALS
#endif

#ifdef PUFFER_HAS_MAX_AGENTS    // rows of an env
#define PUFFER_ROWS max_agents
#else
#define PUFFER_ROWS num_agents
#endif
#ifdef PUFFER_AGENTS    // pufferenv.h: each agent has pointers of its own. The first is the env's
#define PUFFER_OF_ENV(field) agents[0].field
#else
#define PUFFER_OF_ENV(field) field
#endif
#define PUFFER_OF(env, field) (env)->PUFFER_OF_ENV(field)
#define PUFFER_TEXT_OF(name)  #name
#define PUFFER_TEXT(name)     PUFFER_TEXT_OF(name)

// What runs once takes longer to optimise than to run. In builds with sanitizers, and in
// `check`'s, that holds for the whole of this file
#if defined(__SANITIZE_ADDRESS__) && !defined(PUFFER_UNOPTIMIZED)
#define PUFFER_UNOPTIMIZED
#endif
#if defined(__clang__)
#define PUFFER_COLD _Pragma("clang optimize off")
#define PUFFER_WARM _Pragma("clang optimize on")
#elif defined(__GNUC__)
#define PUFFER_COLD _Pragma("GCC push_options") _Pragma("GCC optimize(\"O0\")")
#define PUFFER_WARM _Pragma("GCC pop_options")
#else
#define PUFFER_COLD
#define PUFFER_WARM
#endif
#ifdef PUFFER_UNOPTIMIZED
#define PUFFER_OFTEN
#define PUFFER_ONCE
#else
#define PUFFER_OFTEN PUFFER_WARM    // from here on, what each step calls
#define PUFFER_ONCE  PUFFER_COLD
#endif
PUFFER_COLD
PUFFER_OFTEN

//------------------------------------------------------------------------------------
// Types that bindings name
//------------------------------------------------------------------------------------
typedef struct ByteTensor {
    unsigned char* data;
    int64_t shape[8];
} ByteTensor;
typedef struct FloatTensor {
    float* data;
    int64_t shape[8];
} FloatTensor;
typedef struct IntTensor {
    int* data;
    int64_t shape[8];
} IntTensor;
// PufferLib's, of the network's precision: floats, or bf16 as 16 bits, as the env itself has them
typedef struct PrecisionTensor {
    __typeof__(PUFFER_OF((Env*)0, observations)) data;
    int64_t shape[8];
} PrecisionTensor;
typedef struct LongTensor_is_not_an_observation_type_here LongTensor;

typedef struct StaticVec {    // what a MY_VEC_STEP function is handed
    void* envs;               // (Env*) [size]
    int size;
    int total_agents;
    int buffers;
    int agents_per_buffer;
    int* buffer_env_starts;    // [buffers]
    int* buffer_env_counts;    // [buffers]
    void* observations;
    float* actions;
    float* rewards;      // (total_agents)
    float* terminals;    // (total_agents)
    unsigned char* action_mask;
    int obs_size;
    int num_atns;
    int action_mask_size;
    int* agent_perm;    // of PufferLib's self-play: NULL, slot s is row s
} StaticVec;

void my_init(Env* env, Dict* kwargs);
void my_log(Log* log, Dict* out);
#ifdef MY_VEC_INIT
Env* my_vec_init(int* num_envs_out, int* buffer_env_starts, int* buffer_env_counts,
                 Dict* vec_kwargs, Dict* env_kwargs);
#endif
#ifdef MY_VEC_CLOSE
void my_vec_close(Env* envs);
#endif
#ifdef MY_USES_PERM    // an env with a pointer for each of its agents
void my_setup_perm(StaticVec* vec, Env* env, int slot_base);
#endif
#ifdef MY_VEC_STEP
void MY_VEC_STEP(StaticVec* vec);
#endif
#ifdef MY_VEC_STEP_RANGE
void MY_VEC_STEP_RANGE(StaticVec* vec, int env_start, int env_count, int num_workers);
#endif
#ifdef PUFFER_APPLY    // generated bindings: [env] keys to struct fields, no init
static void PUFFER_APPLY(Env* env, Dict* kwargs);
#endif

static const int puffer_act_sizes[] = ACT_SIZES;
enum { puffer_num_atns = (int)(sizeof(puffer_act_sizes) / sizeof(puffer_act_sizes[0])) };
#ifdef NUM_ATNS
PUFFER_ASSERT(NUM_ATNS == puffer_num_atns,
              "PUF112: NUM_ATNS is not the number of entries in ACT_SIZES");
#endif
PUFFER_ASSERT(puffer_num_atns > 0, "PUF112: ACT_SIZES is an empty list");
PUFFER_ASSERT(puffer_num_atns <= PUFFER_MAX_HEADS, "PUF112: more than 128 entries in ACT_SIZES");
PUFFER_ASSERT(sizeof(Log) % sizeof(float) == 0, "PUF104: Log holds something but floats");
#ifndef __cplusplus    // the reader has said so before a GPU's compiler sees it
PUFFER_ASSERT(_Generic(PUFFER_OF((Env*)0, observations),
              void*: true,
              default: sizeof(*((OBS_TENSOR_T*)0)->data)
                  == sizeof(*PUFFER_OF((Env*)0, observations))),
              "PUF103: OBS_TENSOR_T is not the type that observations points to");
#endif

enum {
    puffer_log_fields = (int)(sizeof(Log) / sizeof(float)),
    puffer_log_n = (int)(offsetof(Log, n) / sizeof(float)),
};

#if defined(ACTION_MASK_AT) && !defined(MY_ACTION_MASK)
#ifdef PUFFER_MASK_SIZE    // PufferLib, where MY_ACTION_MASK asks for a field, has no such mask
#define MY_ACTION_MASK PUFFER_MASK_SIZE
#elif !defined(PUFFER_READ)    // whoever reads the header finds the size
#error "ACTION_MASK_AT needs MY_ACTION_MASK, the number of all actions"
#endif
#endif
#ifdef MY_ACTION_MASK
enum { puffer_mask_size = MY_ACTION_MASK };
#else
enum { puffer_mask_size = 0 };
#endif

static inline size_t obs_element_size(void) { return sizeof(*((OBS_TENSOR_T*)0)->data); }

// An env of 16 bits has rows of its own, and its callers have floats. A bf16 is the upper half of a
// float: nothing is lost on the way out, and on the way back the lower half is cut off
enum {
    puffer_is_narrow = sizeof(*((OBS_TENSOR_T*)0)->data) == 2,
    puffer_obs_bytes = puffer_is_narrow ? 4 : (int)sizeof(*((OBS_TENSOR_T*)0)->data),
};

static inline int32_t puffer_obs_dtype(void) {
    if (puffer_obs_bytes == 1) return PUFFER_U8;
    bool whole = (__typeof__(*((OBS_TENSOR_T*)0)->data))0.5f == 0;    // integers cut it off
    return whole && !puffer_is_narrow ? PUFFER_I32 : PUFFER_F32;
}

static inline int puffer_obs_size(Env* env) {
    (void)env;
    return (int)(OBS_SIZE);
}

//------------------------------------------------------------------------------------
// Many envs
//------------------------------------------------------------------------------------
struct PufferVec {
    StaticVec view;    // handed to MY_VEC_STEP; view.envs is `envs`
    Env* envs;         // [num_envs]
    int32_t num_envs;
    int32_t total_agents;               // N
    int32_t obs_size;                   // D
    int32_t* first_row;                 // [num_envs + 1] row where each env's agents begin
    uint64_t seed;                      // of all
    uint32_t* env_seeds;                // [num_envs] puffer_mix(seed, e), or as given
    uint32_t* rand_states;              // [num_envs] generators behind rand()
    float** rewards;                    // [num_envs] as bound
    float** terminals;                  // [num_envs]
    float** truncations;                // [num_envs] or NULLs
    unsigned char** masks;              // [num_envs] as bound, where the library writes them
    char** finals;                      // [num_envs] final observations as bound, or NULLs
    unsigned char** has_final;          // [num_envs]
    char** spare_finals;                // [num_envs] our own, where the env writes unasked
    unsigned char** alive;              // [num_envs] as bound, or NULLs
    unsigned char** spare_alive;        // [num_envs] our own, where the env writes unasked
    float** floats;                     // [num_envs] of an env of 16 bits: its rows as bound
    uint16_t** narrow;                  // [num_envs] and as it has them, or NULLs
    double added[puffer_log_fields];    // sums that add_log brought, not yet collected
    char* adjacent;                   // [num_envs + 1] 1 where an env's rows follow its neighbour's
    struct PufferChange** changes;    // [num_envs] what comes after an ending, or NULL; NULL: none
    bool failed;                      // a change could not be made, and why
    PufferError fault;
};

static void puffer_drop_change(PufferVec* vec, int32_t e);
#ifndef MY_VEC_INIT
static void puffer_turn(PufferVec* vec, int32_t e, PufferWatch* watch);
static bool puffer_begin_anew(PufferVec* vec, int32_t e, int32_t phase, PufferWatch* watch);
#endif

// splitmix64's finaliser: seed and index in, 32 well-mixed bits out
static inline uint32_t puffer_mix(uint64_t seed, uint64_t index) {
    uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (uint32_t)((z ^ (z >> 31)) >> 16);
}

// The state of a generator of 4 or 8 bytes, with a seed mixed in
static inline uint64_t puffer_reseed(uint64_t seed, uint64_t state, size_t bytes) {
    uint64_t low = puffer_mix(seed, state);
    return bytes == 4 ? low : low | (uint64_t)puffer_mix(low, state) << 32;
}

static inline PufferWatch* puffer_enter(PufferWatch* watch, PufferWatch* spare, int phase,
                                        uint64_t seed) {
    if (!watch) watch = spare;
    watch->seed = (int64_t)seed;
    watch->phase = phase;
    watch->pulse = watch->pulse + 1;
    return watch;
}

static inline void puffer_leave(PufferWatch* watch) {
    puffer_rand_state = &puffer_rand_spare;
    watch->pulse = watch->pulse + 1;
    watch->phase = PUFFER_IDLE;
}

// From here on this thread is inside env e
static inline void puffer_at(PufferVec* vec, int32_t e, PufferWatch* watch) {
    watch->env = e;
    puffer_rand_state = &vec->rand_states[e];
}

PUFFER_ONCE

// The multiples of a step that are nearest to this number: what would fit
static inline void puffer_suggest(PufferError* error, int32_t number, int32_t step) {
    error->a = number < step ? step : (int64_t)number / step * step;
    error->b = error->a == number || number < step ? 0 : error->a + step;
}

// OBS_SIZE as only [env] makes it, before init
static int puffer_described_size(Dict* kwargs) {
    Env* env = (Env*)calloc(1, sizeof(Env));
    (void)kwargs;
    env->num_agents = 1;
#ifdef PUFFER_APPLY
    PUFFER_APPLY(env, kwargs);
#endif
    int size = puffer_obs_size(env);
    free(env);
    return size;
}

static int32_t puffer_describe(const PufferSettings* settings, PufferDescription* out,
                               PufferError* error) {
    Dict* volatile kwargs = puffer_dict_from(settings, 8);
    Dict* volatile logs = create_dict(PUFFER_MAX_LOG);
    jmp_buf escape;
    int32_t status = -1;

    puffer_error = error;
    puffer_escape = &escape;
    if (setjmp(escape) == 0) {
        memset(out, 0, sizeof(*out));
        out->name = PUFFER_NAME;
        out->obs_dtype = puffer_obs_dtype();
        out->obs_size = puffer_described_size(kwargs);
        out->num_atns = puffer_num_atns;
        for (int k = 0; k < puffer_num_atns; k++) out->act_sizes[k] = puffer_act_sizes[k];
        out->mask_size = puffer_mask_size;
#ifdef PUFFER_HAS_TRUNCATIONS
        out->has_truncations = 1;
#endif
#ifdef PUFFER_FINALS
        out->has_final_obs = out->has_truncations ? 1 : PUFFER_ALL_FINALS_ONLY;
#endif
#if defined(PUFFER_HAS_ALIVE) || defined(PUFFER_HAS_MAX_AGENTS)
        out->has_alive = 1;
#endif
#ifdef MY_VEC_STEP
        out->whole_steps = 1;
#endif
#if defined(PUFFER_LOG_READS_STATE) && !defined(MY_VEC_INIT)
        Env* made = (Env*)calloc(1, sizeof(Env));    // my_log follows pointers that my_init sets
        made->num_agents = 1;
        my_init(made, kwargs);
        free(made);
#endif
        Log nothing;
        memset(&nothing, 0, sizeof(nothing));
        nothing.n = 1.0f;
        my_log(&nothing, logs);
        out->num_logs = logs->size;
        for (int i = 0; i < logs->size; i++) out->log_names[i] = logs->items[i].key;
        status = 0;
    }
    puffer_escape = NULL;
    puffer_error = NULL;
    puffer_free_dict(logs);
    puffer_free_dict(kwargs);
    return status;
}

static bool puffer_has_rows(const Env* env, int32_t e, PufferError* error) {
#ifdef PUFFER_AGENTS
    if (env->num_agents > PUFFER_AGENTS) {
        puffer_refuse(error, PUFFER_TOO_MANY_AGENTS, "env %d has num_agents = %d, and agents[%d]",
                      e, env->num_agents, PUFFER_AGENTS);
        error->a = env->num_agents;
        error->b = PUFFER_AGENTS;
        return false;
    }
#endif
    if (env->PUFFER_ROWS > 0) return true;
    puffer_refuse(error, PUFFER_NO_AGENTS, "env %d has " PUFFER_TEXT(PUFFER_ROWS) " = %d", e,
                  env->PUFFER_ROWS);
    puffer_name(error, PUFFER_TEXT(PUFFER_ROWS));
    return false;
}

enum { PUFFER_PROBED = 64 };    // agents that my_vec_init makes envs for, to see their size

static int32_t puffer_agents_per_env(const PufferSettings* settings, PufferWatch* watch,
                                     PufferError* error) {
    PufferWatch spare = {0, 0, 0, 0, 0};
    Dict* volatile kwargs = puffer_dict_from(settings, 8);
    Env* volatile env = NULL;
    volatile int32_t agents = -1;
    PufferWatch* volatile seen = puffer_enter(watch, &spare, PUFFER_INIT, 0);
    jmp_buf escape;

    puffer_error = error;
    puffer_escape = &escape;
#ifdef MY_VEC_INIT
    Dict* volatile vec_kwargs = puffer_dict_from(NULL, 8);
    int start = 0, envs = 0, count = 0;
    uint32_t vec_rand = 0;
    vec_kwargs->is_vec = true;
    dict_set(vec_kwargs, "total_agents", PUFFER_PROBED);
    dict_set(vec_kwargs, "num_buffers", 1);
    dict_set(vec_kwargs, "num_threads", 1);
    puffer_rand_state = &vec_rand;
    agents = 1;    // where no size is common to all of them
    if (setjmp(escape) == 0) {
        env = my_vec_init(&count, &start, &envs, vec_kwargs, kwargs);
        for (int e = 0; env && e < count; e++) {
            int32_t rows = env[e].PUFFER_ROWS;
            if (rows < 1 || (e > 0 && rows != agents)) {
                agents = 1;
                break;
            }
            agents = rows;
        }
    }
    puffer_free_dict(vec_kwargs);
#else
    env = (Env*)calloc(1, sizeof(Env));
    if (setjmp(escape) == 0) {
        env->num_agents = 1;
        my_init(env, kwargs);    // what it allocates is small, and c_close wants a reset env
        agents = env->PUFFER_ROWS;
        puffer_has_rows(env, 0, error);
    }
#endif
    puffer_escape = NULL;
    puffer_error = NULL;
    puffer_leave(seen);
    free(env);
    puffer_free_dict(kwargs);
    return agents;
}

#if defined(MY_VEC_STEP) || defined(MY_VEC_STEP_RANGE)    // they may go through view.observations
enum { puffer_in_one = 1 };
#else
enum { puffer_in_one = 0 };
#endif

static void puffer_free_vec(PufferVec* vec) {
    if (!vec) return;
    for (int32_t e = 0; e < vec->num_envs; e++) puffer_drop_change(vec, e);
    free(vec->changes);
    for (int32_t e = 0; vec->spare_finals && e < vec->total_agents; e++) free(vec->spare_finals[e]);
    for (int32_t e = 0; vec->spare_alive && e < vec->total_agents; e++) free(vec->spare_alive[e]);
    for (int32_t e = 0; vec->narrow && e < (puffer_in_one ? 1 : vec->total_agents); e++)
        free(vec->narrow[e]);
    free(vec->narrow);
    free(vec->floats);
    free(vec->spare_finals);
    free(vec->masks);
    free(vec->spare_alive);
    free(vec->alive);
    free(vec->finals);
    free(vec->has_final);
    free(vec->view.buffer_env_starts);
    free(vec->view.buffer_env_counts);
    free(vec->first_row);
    free(vec->env_seeds);
    free(vec->rand_states);
    free(vec->rewards);
    free(vec->terminals);
    free(vec->truncations);
    free(vec->adjacent);
    free(vec);
}

#ifdef MY_VEC_INIT
static bool puffer_create_envs(PufferVec* vec, const uint32_t* given, Dict* kwargs,
                               Dict* vec_kwargs, PufferWatch* watch, PufferError* error) {
    uint32_t vec_rand = vec->env_seeds[0];
    watch->env = 0;
    puffer_rand_state = &vec_rand;
    int count = 0;
    vec->envs = my_vec_init(&count, vec->view.buffer_env_starts, vec->view.buffer_env_counts,
                            vec_kwargs, kwargs);
    vec->num_envs = count;
    if (!vec->envs || count < 1) {
        puffer_refuse(error, PUFFER_NO_ENVS, "my_vec_init made no environment");
        puffer_name(error, "my_vec_init");
        return false;
    }
    if (count > vec->total_agents) {
        puffer_refuse(error, PUFFER_NOT_WHOLE, "my_vec_init made %d envs for %d agents", count,
                      vec->total_agents);
        return false;
    }
    for (int e = 0; e < count; e++) {
        Env* env = &vec->envs[e];
        if (!puffer_has_rows(env, e, error)) return false;
#ifndef PUFFER_NO_RNG
        // my_vec_init seeds as it likes, by number perhaps; the run's seed has a say as well
        env->rng = puffer_reseed(given ? given[e] : vec->seed, env->rng, sizeof env->rng);
#endif
        vec->rand_states[e] = vec->env_seeds[e];
        vec->first_row[e + 1] = vec->first_row[e] + env->PUFFER_ROWS;
    }
    if (vec->first_row[count] != vec->total_agents) {
        puffer_refuse(error, PUFFER_NOT_WHOLE,
                      "my_vec_init made envs with %d agents in all, "
                      "total_agents is %d",
                      vec->first_row[count], vec->total_agents);
        error->a = vec->first_row[count];
        return false;
    }
    for (int b = 0, next = 0; b < vec->view.buffers; b++) {
        int start = vec->view.buffer_env_starts[b], envs = vec->view.buffer_env_counts[b];
        int end = start + envs;
        bool inside = start == next && envs > 0 && end <= count;
        int rows = inside ? vec->first_row[end] - vec->first_row[start] : 0;
        if (!inside || rows != vec->view.agents_per_buffer) {
            puffer_refuse(error, PUFFER_NOT_WHOLE,
                          "my_vec_init gives buffer %d the envs "
                          "%d to %d, which must follow on env %d and hold %d agents",
                          b, start, end - 1, next - 1, vec->view.agents_per_buffer);
            return false;
        }
        next = end;
    }
    return true;
}
#else
static bool puffer_create_envs(PufferVec* vec, const uint32_t* given, Dict* kwargs,
                               Dict* vec_kwargs, PufferWatch* watch, PufferError* error) {
    (void)given, (void)vec_kwargs;
    // Room for one env an agent: pages that no env uses are never touched
    vec->envs = (Env*)calloc((size_t)vec->total_agents, sizeof(Env));
    if (!vec->envs) {
        puffer_refuse(error, PUFFER_NO_MEMORY, "no room for %d envs of %zu bytes",
                      vec->total_agents, sizeof(Env));
        return false;
    }
    int per_buffer = vec->view.agents_per_buffer;
    for (int b = 0; b < vec->view.buffers; b++) {
        int begin = b * per_buffer, row = begin;
        vec->view.buffer_env_starts[b] = vec->num_envs;
        while (row < begin + per_buffer) {
            int32_t e = vec->num_envs;
            Env* env = &vec->envs[e];
            vec->rand_states[e] = vec->env_seeds[e];
            puffer_at(vec, e, watch);
            env->rng = vec->rand_states[e];
            env->num_agents = 1;
            vec->num_envs++;    // first, so that destroy closes an env whose my_init escaped
            my_init(env, kwargs);
            if (!puffer_has_rows(env, e, error)) return false;
            row += env->PUFFER_ROWS;
            vec->first_row[e + 1] = row;
        }
        vec->view.buffer_env_counts[b] = vec->num_envs - vec->view.buffer_env_starts[b];
        if (row != begin + per_buffer) {
            int last = vec->envs[vec->num_envs - 1].PUFFER_ROWS;
            puffer_refuse(error, PUFFER_NOT_WHOLE,
                          "buffer %d has room for %d agents, but "
                          "whole envs (the last has %d agents) fill %d",
                          b, per_buffer, last, row - begin);
            bool uniform = true;
            for (int e = 0; e < vec->num_envs; e++) uniform &= vec->envs[e].PUFFER_ROWS == last;
            if (uniform) puffer_suggest(error, vec->total_agents, last * vec->view.buffers);
            else if (vec->view.buffers == 1) puffer_suggest(error, row, row);
            return false;
        }
    }
    return true;
}
#endif

static void puffer_destroy(PufferVec* vec, PufferWatch* watch) {
    PufferWatch spare = {0, 0, 0, 0, 0};
    if (!vec) return;
    watch = puffer_enter(watch, &spare, PUFFER_CLOSE, vec->seed);
    for (int32_t e = 0; vec->envs && e < vec->num_envs; e++) {
        puffer_at(vec, e, watch);
        c_close(&vec->envs[e]);
    }
#ifdef MY_VEC_CLOSE
    if (vec->envs) my_vec_close(vec->envs);
#endif
    puffer_leave(watch);
    free(vec->envs);
    puffer_free_vec(vec);
}

static PufferVec* puffer_create(const PufferSettings* settings, const PufferSettings* vec_settings,
                                int32_t total_agents, int32_t num_buffers, uint64_t seed,
                                const uint32_t* env_seeds, PufferWatch* watch, PufferError* error) {
    PufferWatch spare = {0, 0, 0, 0, 0};
    if (total_agents < 1 || num_buffers < 1 || total_agents % num_buffers) {
        int32_t agents = puffer_agents_per_env(settings, watch, error);
        if (agents < 1) return NULL;
        puffer_refuse(error, PUFFER_NOT_WHOLE, "%d agents cannot be cut into %d equal buffers",
                      total_agents, num_buffers);
        puffer_suggest(error, total_agents, agents * (num_buffers < 1 ? 1 : num_buffers));
        return NULL;
    }
    PufferVec* volatile vec = (PufferVec*)calloc(1, sizeof(PufferVec));
    if (!vec) {
        puffer_refuse(error, PUFFER_NO_MEMORY, "no room for anything");
        return NULL;
    }
    size_t rows = (size_t)total_agents;
    vec->total_agents = total_agents;
    vec->first_row = (int32_t*)calloc(rows + 1, sizeof(int32_t));
    vec->seed = seed;
    vec->env_seeds = (uint32_t*)calloc(rows, sizeof(uint32_t));
    vec->rand_states = (uint32_t*)calloc(rows, sizeof(uint32_t));
    vec->rewards = (float**)calloc(rows, sizeof(float*));
    vec->terminals = (float**)calloc(rows, sizeof(float*));
    vec->truncations = (float**)calloc(rows, sizeof(float*));
    vec->adjacent = (char*)calloc(rows + 1, sizeof(char));
    vec->masks = (unsigned char**)calloc(rows, sizeof(char*));
    vec->finals = (char**)calloc(rows, sizeof(char*));
    vec->has_final = (unsigned char**)calloc(rows, sizeof(char*));
    vec->spare_finals = (char**)calloc(rows, sizeof(char*));
    vec->alive = (unsigned char**)calloc(rows, sizeof(char*));
    vec->spare_alive = (unsigned char**)calloc(rows, sizeof(char*));
    vec->floats = (float**)calloc(rows, sizeof(float*));
    vec->narrow = (uint16_t**)calloc(rows, sizeof(uint16_t*));
    vec->view.buffers = num_buffers;
    vec->view.agents_per_buffer = total_agents / num_buffers;
    vec->view.total_agents = total_agents;
    vec->view.buffer_env_starts = (int*)calloc((size_t)num_buffers, sizeof(int));
    vec->view.buffer_env_counts = (int*)calloc((size_t)num_buffers, sizeof(int));

    if (!vec->first_row || !vec->env_seeds || !vec->rand_states || !vec->rewards || !vec->terminals
        || !vec->truncations || !vec->adjacent || !vec->masks || !vec->finals || !vec->has_final
        || !vec->spare_finals || !vec->alive || !vec->spare_alive || !vec->floats || !vec->narrow
        || !vec->view.buffer_env_starts || !vec->view.buffer_env_counts) {
        puffer_refuse(error, PUFFER_NO_MEMORY, "no room for %d agents", total_agents);
        puffer_free_vec(vec);
        return NULL;
    }
    for (int32_t e = 0; e < total_agents; e++)
        vec->env_seeds[e] = env_seeds ? env_seeds[e] : puffer_mix(seed, (uint64_t)e);
    Dict* volatile kwargs = puffer_dict_from(settings, 8);
    Dict* volatile vec_kwargs = puffer_dict_from(vec_settings, 8);
    vec_kwargs->is_vec = true;
    dict_set(vec_kwargs, "total_agents", total_agents);
    dict_set(vec_kwargs, "num_buffers", num_buffers);

    PufferWatch* volatile seen = puffer_enter(watch, &spare, PUFFER_INIT, seed);
    volatile bool good = false;
    jmp_buf escape;
    puffer_error = error;
    puffer_escape = &escape;
    if (setjmp(escape) == 0) {
        good = puffer_create_envs(vec, env_seeds, kwargs, vec_kwargs, seen, error);
        vec->obs_size = puffer_described_size(kwargs);    // what callers have made room for
        for (int32_t e = 0; good && e < vec->num_envs; e++) {
            int size = puffer_obs_size(&vec->envs[e]);
            if (size < 1 || size != vec->obs_size) {
                puffer_refuse(error, PUFFER_BAD_SIZES,
                              "OBS_SIZE is %d by the settings alone "
                              "and %d in env %d after init",
                              vec->obs_size, size, e);
                good = false;
            }
#ifdef ACTION_MASK_AT
            Env* env = &vec->envs[e];
            int at = (int)(ACTION_MASK_AT);
            (void)env;
            if (at < 0 || at + puffer_mask_size > size) {
                puffer_refuse(error, PUFFER_BAD_SIZES,
                              "ACTION_MASK_AT is %d, and %d actions from there on do not fit "
                              "into %d observations",
                              at, puffer_mask_size, size);
                good = false;
            }
#endif
        }
    }
    puffer_escape = NULL;
    puffer_error = NULL;
    puffer_leave(seen);
    puffer_free_dict(kwargs);
    puffer_free_dict(vec_kwargs);
    if (!good) {    // c_close may not know half-made envs: only memory is freed
        free(vec->envs);
        puffer_free_vec(vec);
        return NULL;
    }
    vec->view.envs = vec->envs;
    vec->view.size = vec->num_envs;
    vec->view.obs_size = vec->obs_size;
    vec->view.num_atns = puffer_num_atns;
    vec->view.action_mask_size = puffer_mask_size;
    return vec;
}

PUFFER_OFTEN

static int32_t puffer_num_envs(const PufferVec* vec) { return vec->num_envs; }

static uint32_t puffer_env_seed(const PufferVec* vec, int32_t env) { return vec->env_seeds[env]; }

static void puffer_rows(const PufferVec* vec, int32_t env, int32_t* first, int32_t* count) {
    *first = vec->first_row[env];
    *count = vec->first_row[env + 1] - *first;
}

static void puffer_slice(const PufferVec* vec, int32_t buffer, int32_t* first, int32_t* count) {
    *first = vec->view.buffer_env_starts[buffer];
    *count = vec->view.buffer_env_counts[buffer];
}

// The struct's pointers have the author's types (char*, uint8_t*, float*): set as bytes
#define PUFFER_POINT(field, address)                                                               \
    do {                                                                                           \
        void* puffer_address = (void*)(address);                                                   \
        memcpy(&(field), &puffer_address, sizeof(void*));                                          \
    } while (0)

static bool puffer_follows(const PufferVec* vec, int32_t e) {
    int32_t agents = vec->first_row[e] - vec->first_row[e - 1];
    if (!vec->rewards[e - 1] || vec->rewards[e] != vec->rewards[e - 1] + agents) return false;
    if (vec->terminals[e] != vec->terminals[e - 1] + agents) return false;
#ifdef PUFFER_HAS_TRUNCATIONS
    if (vec->truncations[e] != vec->truncations[e - 1] + agents) return false;
#endif
#ifdef PUFFER_FINALS
    if (!vec->has_final[e] != !vec->has_final[e - 1]) return false;
    if (vec->has_final[e] && vec->has_final[e] != vec->has_final[e - 1] + agents) return false;
#endif
    return true;
}

static size_t puffer_cells(const PufferVec* vec, int32_t e) {    // elements of an env's rows
    return (size_t)(vec->first_row[e + 1] - vec->first_row[e]) * (size_t)vec->obs_size;
}

// The rows of an env of 16 bits: of each env alone, so that tools see where they end; or of all
static uint16_t* puffer_narrow_rows(PufferVec* vec, int32_t e) {
    if (puffer_in_one) {
        size_t cells = (size_t)vec->first_row[vec->num_envs] * (size_t)vec->obs_size;
        if (!vec->narrow[0]) vec->narrow[0] = (uint16_t*)calloc(cells, sizeof(uint16_t));
        if (vec->narrow[0])
            vec->narrow[e] = vec->narrow[0] + (size_t)vec->first_row[e] * (size_t)vec->obs_size;
    } else if (!vec->narrow[e])
        vec->narrow[e] = (uint16_t*)calloc(puffer_cells(vec, e), sizeof(uint16_t));
    return vec->narrow[e];
}

static void puffer_bind_observations(PufferVec* vec, int32_t e, void* rows) {
    vec->floats[e] = (float*)rows;
    if (puffer_is_narrow) rows = puffer_narrow_rows(vec, e);
    PUFFER_POINT(PUFFER_OF(&vec->envs[e], observations), rows);
}

typedef uint32_t __attribute__((may_alias)) puffer_wide_bits;
typedef uint16_t __attribute__((may_alias)) puffer_half_bits;

// Before the author's code: an env of 16 bits sees what its caller's rows hold
static inline void puffer_take_rows(PufferVec* vec, int32_t e) {
    if (!puffer_is_narrow) return;
    size_t cells = puffer_cells(vec, e);
    const puffer_wide_bits* __restrict from = (const puffer_wide_bits*)vec->floats[e];
    puffer_half_bits* __restrict to = (puffer_half_bits*)vec->narrow[e];
    for (size_t i = 0; i < cells; i++) to[i] = (uint16_t)(from[i] >> 16);
}

// And after it, the caller what the env wrote
static inline void puffer_give_rows(PufferVec* vec, int32_t e) {
    if (!puffer_is_narrow) return;
    size_t cells = puffer_cells(vec, e);
    const puffer_half_bits* __restrict from = (const puffer_half_bits*)vec->narrow[e];
    puffer_wide_bits* __restrict to = (puffer_wide_bits*)vec->floats[e];
    for (size_t i = 0; i < cells; i++) to[i] = (uint32_t)from[i] << 16;
}

// Where the final observations of an env go. One that writes them itself always has a place for it
static void puffer_bind_finals(PufferVec* vec, int32_t e, const PufferBuffers* buffers) {
    (void)vec, (void)e, (void)buffers;
#ifdef PUFFER_FINALS
    vec->finals[e] = buffers->has_final ? (char*)buffers->final_observations : NULL;
    vec->has_final[e] = vec->finals[e] ? buffers->has_final : NULL;
#endif
#ifdef PUFFER_HAS_FINALS
    size_t rows = (size_t)(vec->first_row[e + 1] - vec->first_row[e]);
    if (!vec->finals[e] && !vec->spare_finals[e])
        vec->spare_finals[e] = (char*)calloc(rows, (size_t)vec->obs_size * obs_element_size());
    PUFFER_POINT(vec->envs[e].final_observations,
                 vec->finals[e] ? vec->finals[e] : vec->spare_finals[e]);
#endif
}

// The row of who lives is our own where the env writes it and the caller does not ask for it
static void puffer_bind_alive(PufferVec* vec, int32_t e, unsigned char* alive) {
    size_t rows = (size_t)(vec->first_row[e + 1] - vec->first_row[e]);
    bool first = !vec->alive[e];
#ifdef PUFFER_HAS_ALIVE
    if (!alive && !vec->spare_alive[e]) vec->spare_alive[e] = (unsigned char*)malloc(rows);
    if (!alive) alive = vec->spare_alive[e];
    PUFFER_POINT(vec->envs[e].alive, alive);
#endif
    vec->alive[e] = alive;
    if (first && alive) memset(alive, 1, rows);
}

// The pointers of an env's agents, to the rows that it has now
static void puffer_setup_perm(const PufferVec* vec, Env* env) {
    (void)vec, (void)env;
#ifdef PUFFER_AGENTS
    Agent* first = env->agents;
    size_t row_bytes = (size_t)vec->obs_size * obs_element_size();
    for (int i = 1; i < env->num_agents; i++) {
        Agent* own = &env->agents[i];
        PUFFER_POINT(own->observations, (char*)first->observations + (size_t)i * row_bytes);
        own->actions = first->actions + i * puffer_num_atns;
        own->rewards = first->rewards + i;
        own->terminals = first->terminals + i;
        own->action_mask = first->action_mask ? first->action_mask + i * puffer_mask_size : NULL;
    }
#endif
#ifdef MY_USES_PERM
    StaticVec own = vec->view;
    own.observations = (void*)env->observations;
    own.actions = env->actions;
    own.rewards = env->rewards;
    own.terminals = env->terminals;
#if defined(MY_ACTION_MASK) && !defined(ACTION_MASK_AT)
    own.action_mask = (unsigned char*)env->action_mask;
#endif
    my_setup_perm(&own, env, 0);
#endif
}

static void puffer_bind(PufferVec* vec, int32_t e, const PufferBuffers* buffers) {
    Env* env = &vec->envs[e];
    puffer_bind_observations(vec, e, buffers->observations);
    PUFFER_POINT(PUFFER_OF(env, actions), buffers->actions);
    PUFFER_POINT(PUFFER_OF(env, rewards), buffers->rewards);
    PUFFER_POINT(PUFFER_OF(env, terminals), buffers->terminals);
#ifdef PUFFER_HAS_TRUNCATIONS
    PUFFER_POINT(env->truncations, buffers->truncations);
    vec->truncations[e] = buffers->truncations;
#endif
#if defined(ACTION_MASK_AT)
    vec->masks[e] = buffers->action_mask;
#elif defined(MY_ACTION_MASK)
    PUFFER_POINT(PUFFER_OF(env, action_mask), buffers->action_mask);
#endif
    puffer_bind_finals(vec, e, buffers);
    puffer_bind_alive(vec, e, buffers->alive);
    puffer_setup_perm(vec, env);
    vec->rewards[e] = buffers->rewards;
    vec->terminals[e] = buffers->terminals;
    for (int32_t next = e; next <= e + 1; next++)    // this env and the one behind it
        if (next > 0 && next < vec->num_envs) vec->adjacent[next] = puffer_follows(vec, next);
    if (e == 0) {
        vec->view.observations = (void*)PUFFER_OF(env, observations);
        vec->view.actions = buffers->actions;
        vec->view.rewards = buffers->rewards;
        vec->view.terminals = buffers->terminals;
        vec->view.action_mask = buffers->action_mask;
    }
}

// Zero rewards, terminals and truncations of a range. Blocks that lie behind one another in
// memory are cleared in one stroke, which costs less than an env at a time inside the loop
static void puffer_clear(PufferVec* vec, int32_t first, int32_t count) {
    int32_t end = first + count;
    for (int32_t e = first; e < end;) {
        size_t left = (size_t)(end - e - 1);
        const char* gap = (const char*)memchr(&vec->adjacent[e + 1], 0, left);
        int32_t stop = gap ? (int32_t)(gap - vec->adjacent) : end;
        size_t size = (size_t)(vec->first_row[stop] - vec->first_row[e]) * sizeof(float);
        memset(vec->rewards[e], 0, size);
        memset(vec->terminals[e], 0, size);
#ifdef PUFFER_HAS_TRUNCATIONS
        memset(vec->truncations[e], 0, size);
#endif
#ifdef PUFFER_FINALS
        if (vec->has_final[e]) memset(vec->has_final[e], 0, size / sizeof(float));
#endif
        e = stop;
    }
}

// After c_reset and c_step: rows from num_agents on are empty; of the others the env says it
static inline void puffer_note_alive(PufferVec* vec, int32_t e) {
    (void)vec, (void)e;
#ifdef PUFFER_HAS_MAX_AGENTS
    int32_t rows = vec->first_row[e + 1] - vec->first_row[e], agents = vec->envs[e].num_agents;
    unsigned char* alive = vec->alive[e];
    if (!alive) return;
    agents = agents < 0 ? 0 : agents > rows ? rows : agents;
#ifndef PUFFER_HAS_ALIVE
    memset(alive, 1, (size_t)agents);
#endif
    memset(alive + agents, 0, (size_t)(rows - agents));
#endif
}

#ifdef PUFFER_FINALS
// The rows of agents that are cut off now hold their final observations; with `all`, those of all
// whose episode ends now
static void puffer_note_finals(PufferVec* vec, int32_t e, bool all) {
    int32_t agents = vec->first_row[e + 1] - vec->first_row[e];
    const float* ends = all ? vec->terminals[e] : vec->truncations[e];
    for (int32_t i = 0; i < agents; i++) vec->has_final[e][i] = ends && ends[i] != 0.0f;
}
#endif

#ifdef PUFFER_OBSERVE
void puffer_author_reset(Env* env);

static __thread PufferVec* puffer_stepping;    // the envs that this thread steps, or NULL
static __thread bool puffer_all_finals;        // and whether PUFFER_ALL_FINALS holds

// The first has_final of an env that was looked at in this step: before or after it said who ends
enum { PUFFER_LOOKED_EARLY = 2, PUFFER_LOOKED = 3, PUFFER_UNTOUCHED = 0x5A };

static bool puffer_is_cut(const PufferVec* vec, int32_t e) {
    int32_t agents = vec->first_row[e + 1] - vec->first_row[e];
    const float* ends = puffer_all_finals ? vec->terminals[e] : vec->truncations[e];
    for (int32_t i = 0; ends && i < agents; i++)
        if (ends[i] != 0.0f) return true;
    return false;
}

static bool puffer_is_untouched(const char* bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != PUFFER_UNTOUCHED) return false;
    return true;
}

// The author's own function looks at the env once more before c_reset changes it. What it writes
// besides observations is taken back: the env goes on as if nobody had looked. It was not written
// for how an episode ends (an agent beyond the edge): it looks between two margins, and where it
// writes there, the episode has no final observation
static void puffer_look(PufferVec* vec, Env* env) {
    int32_t e = (int32_t)(env - vec->envs);
    if (env < vec->envs || e >= vec->num_envs || !vec->has_final[e]) return;
    size_t rows = (size_t)(vec->first_row[e + 1] - vec->first_row[e]);
    bool cut = puffer_is_cut(vec, e);    // some authors set the ending behind c_reset
    if (rows == 0 || !(cut || puffer_all_finals) || vec->has_final[e][0] == PUFFER_LOOKED) return;
    size_t row = (size_t)vec->obs_size * obs_element_size(), size = rows * row;
    size_t margin = (row + 63) / 64 * 64;
#if defined(MY_ACTION_MASK) && !defined(ACTION_MASK_AT)
    unsigned char* mask = (unsigned char*)PUFFER_OF(env, action_mask);
#else
    unsigned char* mask = NULL;
#endif
    size_t masks = mask ? rows * puffer_mask_size : 0, lives = vec->alive[e] ? rows : 0;
    char* before = (char*)malloc(sizeof(Env) + 2 * margin + size + masks + lives);
    if (!before) return;
    char *seen = before + sizeof(Env) + margin, *marks = seen + size + margin;
    uint32_t dice = vec->rand_states[e];
    if (masks) memcpy(marks, mask, masks);
    if (lives) memcpy(marks + masks, vec->alive[e], lives);
    memcpy(before, env, sizeof(Env));
    memset(seen - margin, PUFFER_UNTOUCHED, 2 * margin + size);
    memcpy(seen, (const void*)PUFFER_OF(env, observations), size);
    PUFFER_POINT(PUFFER_OF(env, observations), seen);
#ifdef PUFFER_AGENTS
    puffer_setup_perm(vec, env);
#endif
    PUFFER_OBSERVE(env);
    memcpy(env, before, sizeof(Env));
    if (masks) memcpy(mask, marks, masks);
    if (lives) memcpy(vec->alive[e], marks + masks, lives);
    vec->rand_states[e] = dice;
    if (puffer_is_untouched(seen - margin, margin) && puffer_is_untouched(seen + size, margin)) {
        memcpy(vec->finals[e], seen, size);
        vec->has_final[e][0] = cut ? PUFFER_LOOKED : PUFFER_LOOKED_EARLY;
    }
    free(before);
}

void c_reset(Env* env) {
    PufferVec* vec = puffer_stepping;
    if (vec) puffer_look(vec, env);
    puffer_stepping = NULL;    // one that calls itself has nothing left to show
    puffer_author_reset(env);
    puffer_stepping = vec;
}

static void puffer_note_looks(PufferVec* vec, int32_t first, int32_t count) {
    for (int32_t e = first; e < first + count; e++) {
        bool there = vec->has_final[e] && vec->first_row[e + 1] > vec->first_row[e];
        if (there && vec->has_final[e][0] >= PUFFER_LOOKED_EARLY)
            puffer_note_finals(vec, e, puffer_all_finals);
    }
}
#endif

// The part of the observation from element ACTION_MASK_AT on says what is legal: all but 0
static inline void puffer_read_mask(PufferVec* vec, int32_t e) {
    (void)vec, (void)e;
#ifdef ACTION_MASK_AT
    Env* env = &vec->envs[e];
    int32_t agents = vec->first_row[e + 1] - vec->first_row[e];
    for (int32_t i = 0; i < agents && vec->masks[e]; i++)
        for (int j = 0; j < puffer_mask_size; j++)
            vec->masks[e][i * puffer_mask_size + j] =
                env->observations[i * vec->obs_size + (int)(ACTION_MASK_AT) + j] != 0;
#endif
}

static void puffer_reset(PufferVec* vec, int32_t first, int32_t count, PufferWatch* watch) {
    PufferWatch spare = {0, 0, 0, 0, 0};
    watch = puffer_enter(watch, &spare, PUFFER_RESET, vec->seed);
    for (int32_t e = first; e < first + count; e++) {
        puffer_at(vec, e, watch);
        puffer_take_rows(vec, e);
#ifndef MY_VEC_INIT
        if (vec->changes && vec->changes[e] && puffer_begin_anew(vec, e, PUFFER_RESET, watch))
            continue;
#endif
        c_reset(&vec->envs[e]);
        puffer_give_rows(vec, e);
        puffer_read_mask(vec, e);
        puffer_note_alive(vec, e);
    }
    puffer_clear(vec, first, count);
    puffer_leave(watch);
}

// waits: envs that do not step; NULL: all do. One function for both: authors' code is compiled once
static void puffer_step_range(PufferVec* vec, int32_t first, int32_t count, int32_t flags,
                              const unsigned char* waits, PufferWatch* watch) {
    (void)waits;
    PufferWatch spare = {0, 0, 0, 0, 0};
    watch = puffer_enter(watch, &spare, PUFFER_STEP, vec->seed);
#ifdef MY_VEC_STEP    // all envs or none
    first = 0;
    count = vec->num_envs;
#endif
    if (!(flags & PUFFER_KEEP_REWARDS)) puffer_clear(vec, first, count);
#ifdef PUFFER_OBSERVE
    puffer_all_finals = flags & PUFFER_ALL_FINALS;
    puffer_stepping = vec;
#endif
#ifdef MY_VEC_STEP
    puffer_at(vec, 0, watch);
    for (int32_t e = 0; e < count; e++) puffer_take_rows(vec, e);
    MY_VEC_STEP(&vec->view);
    for (int32_t e = 0; e < count; e++) puffer_give_rows(vec, e);
    for (int32_t e = 0; e < count; e++) puffer_read_mask(vec, e);
    for (int32_t e = 0; e < count; e++) puffer_note_alive(vec, e);
#ifndef MY_VEC_INIT
    for (int32_t e = 0; vec->changes && e < count; e++)
        if (vec->changes[e]) puffer_turn(vec, e, watch);
#endif
#else
    Env* envs = vec->envs;    // the compiler cannot know that c_step leaves these be
    uint32_t* rand_states = vec->rand_states;
    struct PufferChange** changes = vec->changes;
    (void)envs, (void)changes;
    for (int32_t e = first; e < first + count; e++) {
        if (waits && waits[e]) continue;
        watch->env = e;
        puffer_rand_state = &rand_states[e];
        puffer_take_rows(vec, e);
#ifdef MY_VEC_STEP_RANGE    // an env at a time: rand() must not depend on the range
        MY_VEC_STEP_RANGE(&vec->view, e, 1, 1);
#else
        c_step(&envs[e]);
#endif
        puffer_give_rows(vec, e);
        puffer_read_mask(vec, e);
        puffer_note_alive(vec, e);
#ifndef MY_VEC_INIT
        if (changes && changes[e]) puffer_turn(vec, e, watch);
#endif
    }
#endif
#ifdef PUFFER_OBSERVE
    puffer_stepping = NULL;
    puffer_note_looks(vec, first, count);
#endif
#ifdef PUFFER_HAS_FINALS    // the env fills them where it sets a truncation
    for (int32_t e = first; e < first + count; e++)
        if (vec->has_final[e]) puffer_note_finals(vec, e, false);
#endif
    puffer_leave(watch);
}

static void puffer_step(PufferVec* vec, int32_t first, int32_t count, int32_t flags,
                        PufferWatch* watch) {
    puffer_step_range(vec, first, count, flags, NULL, watch);
}

static void puffer_step_others(PufferVec* vec, int32_t first, int32_t count, int32_t flags,
                               const unsigned char* waits, PufferWatch* watch) {
    puffer_step_range(vec, first, count, flags, waits, watch);
}

PUFFER_ONCE

//------------------------------------------------------------------------------------
// One env anew
//------------------------------------------------------------------------------------
#ifdef MY_VEC_INIT
static int32_t puffer_renew(PufferVec* vec, int32_t e, const PufferSettings* settings,
                            uint32_t seed, int32_t abandon, PufferWatch* watch,
                            PufferError* error) {
    (void)vec, (void)e, (void)settings, (void)seed, (void)abandon, (void)watch;
    puffer_refuse(error, PUFFER_FAILED, "my_vec_init makes all envs at once");
    return -1;
}
#else
// The new env's rows are those of the old one, as bare as before its first reset
static void puffer_inherit(PufferVec* vec, int32_t e, const Env* old) {
    Env* env = &vec->envs[e];
    size_t rows = (size_t)(vec->first_row[e + 1] - vec->first_row[e]);
    memset((void*)PUFFER_OF(old, observations), 0,
           rows * (size_t)vec->obs_size * obs_element_size());
    if (puffer_is_narrow) memset(vec->floats[e], 0, puffer_cells(vec, e) * sizeof(float));
    PUFFER_POINT(PUFFER_OF(env, observations), PUFFER_OF(old, observations));
    PUFFER_POINT(PUFFER_OF(env, actions), PUFFER_OF(old, actions));
    PUFFER_POINT(PUFFER_OF(env, rewards), PUFFER_OF(old, rewards));
    PUFFER_POINT(PUFFER_OF(env, terminals), PUFFER_OF(old, terminals));
#ifdef PUFFER_HAS_TRUNCATIONS
    PUFFER_POINT(env->truncations, old->truncations);
#endif
#if defined(MY_ACTION_MASK) && !defined(ACTION_MASK_AT)
    void* mask = (void*)PUFFER_OF(old, action_mask);
    if (mask) memset(mask, 1, rows * puffer_mask_size);
    PUFFER_POINT(PUFFER_OF(env, action_mask), mask);
#endif
#ifdef PUFFER_HAS_FINALS
    PUFFER_POINT(env->final_observations, old->final_observations);
#endif
#ifdef PUFFER_HAS_ALIVE
    PUFFER_POINT(env->alive, old->alive);
#endif
    if (vec->alive[e]) memset(vec->alive[e], 1, rows);
    puffer_setup_perm(vec, env);
}

// c_close of an env that waits beside the one that took its place. It is called where the env has
// always been: either may point into itself
static void puffer_close_old(PufferVec* vec, int32_t e, const Env* old, uint32_t dice, Env* room,
                             PufferWatch* watch) {
    PufferWatch spare = {0, 0, 0, 0, 0};
    Env* env = &vec->envs[e];
    const uint32_t begun = vec->rand_states[e];
    memcpy((void*)room, env, sizeof(Env));
    memcpy((void*)env, old, sizeof(Env));
    vec->rand_states[e] = dice;
    watch = puffer_enter(watch, &spare, PUFFER_CLOSE, vec->seed);
    puffer_at(vec, e, watch);
    c_close(env);
    puffer_leave(watch);
    memcpy((void*)env, room, sizeof(Env));
    vec->rand_states[e] = begun;
}

static bool puffer_fits(PufferVec* vec, int32_t e, PufferError* error) {
    Env* env = &vec->envs[e];
    int rows = env->PUFFER_ROWS, wanted = vec->first_row[e + 1] - vec->first_row[e];
    if (rows == wanted && puffer_obs_size(env) == vec->obs_size) return true;
    puffer_refuse(error, PUFFER_FAILED, "env %d has %d agents and %d observations, not %d and %d",
                  e, rows, puffer_obs_size(env), wanted, vec->obs_size);
    return false;
}

static int32_t puffer_renew(PufferVec* vec, int32_t e, const PufferSettings* settings,
                            uint32_t seed, int32_t abandon, PufferWatch* watch,
                            PufferError* error) {
    PufferWatch spare = {0, 0, 0, 0, 0};
    Env* env = &vec->envs[e];
    Env* volatile beside = (Env*)malloc(2 * sizeof(Env));    // the old one, and room
    if (!beside) {
        puffer_refuse(error, PUFFER_NO_MEMORY, "no room for a second env");
        return -1;
    }
    Dict* volatile kwargs = puffer_dict_from(settings, 8);
    PufferWatch* volatile seen = puffer_enter(watch, &spare, PUFFER_INIT, vec->seed);
    const uint32_t dice = vec->rand_states[e];
    volatile bool good = false;
    jmp_buf escape;

    memcpy((void*)beside, env, sizeof(Env));
    memset((void*)env, 0, sizeof(Env));
    vec->rand_states[e] = seed;
    puffer_at(vec, e, seen);
    puffer_error = error;
    puffer_escape = &escape;
    if (setjmp(escape) == 0) {
        env->rng = seed;
        env->num_agents = 1;
        my_init(env, kwargs);
        good = puffer_fits(vec, e, error);
    }
    puffer_escape = NULL;
    puffer_error = NULL;
    puffer_leave(seen);
    if (good) {
        puffer_inherit(vec, e, beside);
        vec->env_seeds[e] = seed;
        if (!abandon) puffer_close_old(vec, e, beside, dice, beside + 1, watch);
    } else {
        memcpy((void*)env, beside, sizeof(Env));
        vec->rand_states[e] = dice;
    }
    free(beside);
    puffer_free_dict(kwargs);
    return good ? 0 : -1;
}
#endif

#include "vecenv_changes.h"

PUFFER_OFTEN

static double puffer_collect_log(PufferVec* vec, int32_t first, int32_t count, double* out) {
    enum { fields = puffer_log_fields };
    double sums[fields] = {0};
    for (int32_t e = first; e < first + count; e++) {
        Log* log = &vec->envs[e].log;
        if (log->n == 0.0f) continue;
        float values[fields];
        memcpy(values, log, sizeof(Log));
        for (int i = 0; i < fields; i++) sums[i] += values[i];
        memset(log, 0, sizeof(Log));
    }
    for (int i = 0; first == 0 && count > 0 && i < fields; i++) {
        sums[i] += vec->added[i];
        vec->added[i] = 0.0;
    }
    double n = sums[puffer_log_n];
    if (n <= 0.0) return 0.0;

    float means[fields];
    Log mean;
    for (int i = 0; i < fields; i++) means[i] = (float)(sums[i] / n);
    memcpy(&mean, means, sizeof(Log));
    DictItem items[PUFFER_MAX_LOG];
    Dict logs = {items, 0, PUFFER_MAX_LOG, false};
    my_log(&mean, &logs);
    for (int i = 0; i < logs.size; i++) out[i] = logs.items[i].value;
    return n;
}

static void puffer_collect_logs(PufferVec* vec, const int32_t* envs, int32_t count,
                                int32_t num_logs, double* n, double* out) {
    for (int32_t i = 0; i < count; i++)
        n[i] = puffer_collect_log(vec, envs[i], 1, out + (size_t)i * (size_t)num_logs);
}

PUFFER_ONCE

static void puffer_render(PufferVec* vec, int32_t env, PufferWatch* watch) {
    PufferWatch spare = {0, 0, 0, 0, 0};
    watch = puffer_enter(watch, &spare, PUFFER_RENDER, vec->seed);
    puffer_at(vec, env, watch);
    c_render(&vec->envs[env]);
    puffer_leave(watch);
}

static void puffer_add_log(PufferVec* vec, const double* sums) {
    for (int i = 0; i < puffer_log_fields; i++) vec->added[i] += sums[i];
}

static float* puffer_floats(float* block, int64_t at) { return block ? block + at : NULL; }

static unsigned char* puffer_bytes(void* block, int64_t at) {
    return block ? (unsigned char*)block + at : NULL;
}

static void puffer_bind_all(PufferVec* vec, const PufferBuffers* all, int64_t* first_row) {
    int64_t obs_bytes = (int64_t)vec->obs_size * puffer_obs_bytes;
    for (int32_t e = 0; e < vec->num_envs; e++) {
        int64_t row = first_row[e] = vec->first_row[e];
        PufferBuffers own = {
            puffer_bytes(all->observations, row * obs_bytes),
            puffer_floats(all->actions, row * puffer_num_atns),
            puffer_floats(all->rewards, row),
            puffer_floats(all->terminals, row),
            puffer_floats(all->truncations, row),
            puffer_bytes(all->action_mask, row * puffer_mask_size),
            puffer_bytes(all->final_observations, row * obs_bytes),
            puffer_bytes(all->has_final, row),
            puffer_bytes(all->alive, row),
        };
        puffer_bind(vec, e, &own);
    }
    first_row[vec->num_envs] = vec->first_row[vec->num_envs];
}

// PUFFER_TEAMS, PUFFER_TEAM_SIZE: of a line `puffer: teams 2 x 5`; the size is 0 where it is left out
static int32_t puffer_team(const PufferVec* vec, int32_t e, int32_t agent) {
    int32_t rows = vec->first_row[e + 1] - vec->first_row[e];
    (void)rows, (void)agent;
#if defined(PUFFER_TEAMS)
    int32_t size = PUFFER_TEAM_SIZE ? PUFFER_TEAM_SIZE : rows / PUFFER_TEAMS;
    return size * PUFFER_TEAMS == rows ? agent / size : PUFFER_BAD_TEAM;
#elif defined(PUFFER_HAS_TEAM)
    const Env* env = &vec->envs[e];
    int32_t room = (int32_t)(sizeof(env->team) / sizeof(env->team[0]));
    return agent < room && env->team[agent] >= 0 ? env->team[agent] : PUFFER_BAD_TEAM;
#elif defined(PUFFER_AGENTS)
    int32_t policy = vec->envs[e].agents[agent].policy;
    return policy >= 0 ? policy : PUFFER_BAD_TEAM;
#elif defined(MY_USES_PERM)
    return agent;
#else
    return PUFFER_NO_TEAM;
#endif
}

#ifdef PUFFER_HAS_BOT
static int32_t puffer_bot(PufferVec* vec, int32_t e, int32_t agent, int32_t level,
                          PufferWatch* watch) {
    PufferWatch spare = {0, 0, 0, 0, 0};
    watch = puffer_enter(watch, &spare, PUFFER_STEP, vec->seed);
    puffer_at(vec, e, watch);
    c_bot(&vec->envs[e], agent, level);
    puffer_leave(watch);
    return 1;
}
#else
#define puffer_bot NULL
#endif

#ifdef PUF_HAS_BOT_POLICY
static int32_t puffer_set_bot(PufferVec* vec, int32_t e, int32_t level) {
    puf_set_bot_policy(&vec->envs[e], level);
    return 1;
}
#else
#define puffer_set_bot NULL
#endif

static int32_t puffer_log_size(void) { return puffer_log_fields; }

static void* puffer_env_struct(PufferVec* vec, int32_t env) { return &vec->envs[env]; }

static int64_t puffer_env_struct_size(void) { return (int64_t)sizeof(Env); }

#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("default"))) const PufferApi*
    puffer_api(void) {
    static const PufferApi api = {
        PUFFER_ABI_VERSION,  (int32_t)sizeof(PufferApi),
        puffer_describe,     puffer_agents_per_env,
        puffer_create,       puffer_destroy,
        puffer_num_envs,     puffer_env_seed,
        puffer_rows,         puffer_slice,
        puffer_bind,         puffer_reset,
        puffer_step,         puffer_collect_log,
        puffer_collect_logs, puffer_render,
        puffer_env_struct,   puffer_env_struct_size,
        puffer_add_log,      puffer_log_size,
        puffer_bind_all,     puffer_renew,
        puffer_step_others,  puffer_team,
        puffer_bot,          puffer_set_bot,
        puffer_change,       puffer_waiting,
    };
    return &api;
}

PUFFER_WARM
