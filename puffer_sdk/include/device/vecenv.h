/* vecenv.h -- what binding.c includes last, where an environment is compiled for a GPU.
 *
 * The same names as the vecenv.h beside this folder, for one env of one thread: the caller has
 * the envs, the buffers and the seeds (env_program.h). The functions at the end are what the
 * program's kernels call; what they do not reach is not compiled.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "env_program.h"

#undef c_reset    // of puffer_final.h: the author's c_reset is behind us
#if defined(PUFFER_OBSERVE) || defined(PUFFER_HAS_FINALS)
#define PUFFER_FINALS
#endif
#ifdef PUFFER_HAS_MAX_AGENTS    // rows of an env
#define PUFFER_ROWS max_agents
#else
#define PUFFER_ROWS num_agents
#endif
#if defined(PUFFER_HAS_ALIVE) || defined(PUFFER_HAS_MAX_AGENTS)
#define PUFFER_COMING
#endif

#ifdef MY_VEC_INIT
#error "PUFFER_REFUSED MY_VEC_INIT"
#endif
#ifdef MY_VEC_CLOSE
#error "PUFFER_REFUSED MY_VEC_CLOSE"
#endif
#ifdef MY_VEC_STEP
#error "PUFFER_REFUSED MY_VEC_STEP"
#endif
#ifdef MY_VEC_STEP_RANGE
#error "PUFFER_REFUSED MY_VEC_STEP_RANGE"
#endif
#ifdef MY_USES_PERM
#error "PUFFER_REFUSED MY_USES_PERM"
#endif

#define PUFFER_ASSERT(test, text) _Static_assert(1, text)    // the CPU's build has looked

typedef EnvSetting DictItem;    // key and value

typedef struct Dict {     // one env's settings
    EnvSetting* items;    // [size], of all envs: not to be written
    int size;
} Dict;

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
typedef FloatTensor PrecisionTensor;
#ifdef PUFFER_NARROW    // who reads its rows here wants floats
#error "PUFFER_REFUSED PrecisionTensor"
#endif
typedef struct StaticVec StaticVec;

void puffer_stop(int what);       // this thread's env has failed: no line after it runs
const void* puffer_args(void);    // EnvsArgs of this launch

static inline DictItem* dict_get_unsafe(Dict* dict, const char* key) {
    for (int i = 0; i < dict->size; i++)
        if (strcmp(dict->items[i].key, key) == 0) return &dict->items[i];
    return 0;
}

static inline DictItem* dict_get(Dict* dict, const char* key) {
    DictItem* item = dict_get_unsafe(dict, key);
    if (!item) puffer_stop(ENV_MISSING_KEY);
    return item;
}

void dict_set(Dict* dict, const char* key, double value)
    PUFFER_NOT_HERE("all envs of a GPU read the same settings");
Dict* create_dict(int capacity) PUFFER_NOT_HERE("all envs of a GPU read the same settings");

void my_init(Env* env, Dict* kwargs);
void my_log(Log* log, Dict* out);
#ifdef PUFFER_APPLY
static void PUFFER_APPLY(Env* env, Dict* kwargs);
#endif

static const int puffer_act_sizes[] = ACT_SIZES;
enum { puffer_num_atns = (int)(sizeof(puffer_act_sizes) / sizeof(puffer_act_sizes[0])) };
#if defined(PUFFER_MASK_SIZE) && !defined(MY_ACTION_MASK)
#define MY_ACTION_MASK PUFFER_MASK_SIZE
#endif
#ifdef MY_ACTION_MASK
enum { puffer_mask_size = MY_ACTION_MASK };
#else
enum { puffer_mask_size = 0 };
#endif

static inline size_t obs_element_size(void) { return sizeof(*((OBS_TENSOR_T*)0)->data); }

static inline int puffer_obs_size(Env* env) {
    (void)env;
    return (int)(OBS_SIZE);
}

//------------------------------------------------------------------------------------
// What the kernels call
//------------------------------------------------------------------------------------
// The struct's pointers have the author's types (char*, uint8_t*, float*): set as bytes
#define PUFFER_POINT(field, address)                                                               \
    do {                                                                                           \
        void* puffer_address = (void*)(address);                                                   \
        memcpy(&(field), &puffer_address, sizeof(void*));                                          \
    } while (0)

static void puffer_thread_facts(EnvFacts* facts) {
    facts->env_bytes = (int64_t)sizeof(Env);
    facts->obs_bytes = (int32_t)obs_element_size();
    facts->num_atns = puffer_num_atns;
    facts->mask_size = puffer_mask_size;
#ifdef PUFFER_HAS_TRUNCATIONS
    facts->has_truncations = 1;
#else
    facts->has_truncations = 0;
#endif
#ifdef PUFFER_FINALS
    facts->has_final_obs = 1;
#else
    facts->has_final_obs = 0;
#endif
#ifdef PUFFER_COMING
    facts->has_alive = 1;
#else
    facts->has_alive = 0;
#endif
    facts->log_fields = (int32_t)(sizeof(Log) / sizeof(float));
#ifdef PUFFER_OBSERVE
    facts->spare_bytes = (int64_t)sizeof(Env);
#else
    facts->spare_bytes = 0;
#endif
}

static inline void puffer_clear(const EnvsArgs* args, int64_t row, int64_t end) {
    for (; row < end; row++) {
        args->rewards[row] = 0.0f;
        args->terminals[row] = 0.0f;
#ifdef PUFFER_HAS_TRUNCATIONS
        args->truncations[row] = 0.0f;
#endif
#ifdef PUFFER_FINALS
        args->has_final[row] = 0;
#endif
    }
}

static inline char* puffer_finals(const EnvsArgs* args, int64_t row) {
    return (char*)args->final_observations
           + (size_t)row * (size_t)args->obs_size * obs_element_size();
}

// The rows of agents that are cut off now hold their final observations
static inline void puffer_note_finals(const EnvsArgs* args, int64_t row, int64_t end) {
    for (; row < end; row++) args->has_final[row] = args->truncations[row] != 0.0f;
}

#ifdef PUFFER_OBSERVE
void puffer_author_reset(Env* env);

static bool puffer_is_cut(const EnvsArgs* args, int64_t row, int64_t end) {
    for (; row < end; row++)
        if (args->truncations[row] != 0.0f) return true;
    return false;
}

static void puffer_keep_marks(const EnvsArgs* args, int64_t row, int64_t end, bool back) {
    for (uint8_t* marks = args->spare_marks; marks && row < end; row++) {
        uint8_t* kept = marks + row * (puffer_mask_size + 1);
        uint8_t* mask = args->action_mask + row * puffer_mask_size;
        for (int i = 0; i < puffer_mask_size; i++)
            if (back) mask[i] = kept[i];
            else kept[i] = mask[i];
        if (args->alive && back) args->alive[row] = kept[puffer_mask_size];
        else if (args->alive) kept[puffer_mask_size] = args->alive[row];
    }
}

// As on the CPU: the author's own function looks at the env once more before c_reset changes it.
// What it writes besides observations is taken back. The copy is not this thread's own: of that
// memory, a GPU would set aside as much for every thread that it has room for
static void puffer_look(const EnvsArgs* args, Env* env) {
    Env* envs = (Env*)args->envs;
    if (env < envs + args->first || env >= envs + args->first + args->count) return;
    int64_t e = env - envs, row = args->first_row[e], end = args->first_row[e + 1];
    if (!puffer_is_cut(args, row, end)) return;
    Env* before = (Env*)args->spares + e;
    uint32_t dice = args->rand_states[e];
    memcpy(before, env, sizeof(Env));
    puffer_keep_marks(args, row, end, false);
    memcpy(puffer_finals(args, row), env->observations,
           (size_t)(puffer_finals(args, end) - puffer_finals(args, row)));
    PUFFER_POINT(env->observations, puffer_finals(args, row));
    PUFFER_OBSERVE(env);
    memcpy(env, before, sizeof(Env));
    puffer_keep_marks(args, row, end, true);
    args->rand_states[e] = dice;
    puffer_note_finals(args, row, end);
}

void c_reset(Env* env) {
    puffer_look((const EnvsArgs*)puffer_args(), env);
    puffer_author_reset(env);
}
#endif

// The part of the observation from element ACTION_MASK_AT on says what is legal: all but 0
static inline void puffer_read_mask(const EnvsArgs* args, Env* env, int64_t row, int64_t end) {
    (void)args, (void)env, (void)row, (void)end;
#ifdef ACTION_MASK_AT
    for (int64_t i = 0; i < end - row; i++)
        for (int j = 0; j < puffer_mask_size; j++)
            args->action_mask[(row + i) * puffer_mask_size + j] =
                env->observations[i * args->obs_size + (int)(ACTION_MASK_AT) + j] != 0;
#endif
}

// After c_reset and c_step: rows from num_agents on are empty; of the others the env says it
static inline void puffer_note_alive(const EnvsArgs* args, Env* env, int64_t row, int64_t end) {
    (void)args, (void)env, (void)row, (void)end;
#ifdef PUFFER_HAS_MAX_AGENTS
    for (int64_t i = 0; i < end - row; i++) {
#ifndef PUFFER_HAS_ALIVE
        args->alive[row + i] = 1;
#endif
        if (i >= env->num_agents) args->alive[row + i] = 0;
    }
#endif
}

static void puffer_thread_start(const EnvsArgs* args, int32_t e) {
    Env* env = (Env*)args->envs + e;
    int64_t row = args->first_row[e], end = args->first_row[e + 1];
    size_t rows = (size_t)(end - row), obs_bytes = (size_t)args->obs_size * obs_element_size();
    char* observations = (char*)args->observations + (size_t)row * obs_bytes;
    Dict kwargs;

    kwargs.items = (EnvSetting*)args->settings;
    kwargs.size = args->settings_count;
    puffer_clear(args, row, end);
    memset(env, 0, sizeof(Env));
    env->rng = args->rand_states[e];
    env->num_agents = 1;
    my_init(env, &kwargs);
    if (env->PUFFER_ROWS != end - row) puffer_stop(ENV_AGENTS);
    if (puffer_obs_size(env) != args->obs_size) puffer_stop(ENV_SIZES);

    memset(observations, 0, rows * obs_bytes);
    PUFFER_POINT(env->observations, observations);
    PUFFER_POINT(env->actions, args->actions + row * puffer_num_atns);
    PUFFER_POINT(env->rewards, args->rewards + row);
    PUFFER_POINT(env->terminals, args->terminals + row);
#ifdef PUFFER_HAS_TRUNCATIONS
    PUFFER_POINT(env->truncations, args->truncations + row);
#endif
#if defined(MY_ACTION_MASK) && !defined(ACTION_MASK_AT)
    memset(args->action_mask + row * puffer_mask_size, 1, rows * puffer_mask_size);
    PUFFER_POINT(env->action_mask, args->action_mask + row * puffer_mask_size);
#endif
#ifdef PUFFER_HAS_FINALS
    memset(puffer_finals(args, row), 0, rows * obs_bytes);
    PUFFER_POINT(env->final_observations, puffer_finals(args, row));
#endif
#ifdef PUFFER_COMING
    memset(args->alive + row, 1, rows);
#endif
#ifdef PUFFER_HAS_ALIVE
    PUFFER_POINT(env->alive, args->alive + row);
#endif
    c_reset(env);
    puffer_clear(args, row, end);
    puffer_read_mask(args, env, row, end);
    puffer_note_alive(args, env, row, end);
}

static void puffer_thread_step(const EnvsArgs* args, int32_t e) {
    int64_t row = args->first_row[e], end = args->first_row[e + 1];
    puffer_clear(args, row, end);
    c_step((Env*)args->envs + e);
    puffer_read_mask(args, (Env*)args->envs + e, row, end);
    puffer_note_alive(args, (Env*)args->envs + e, row, end);
#ifdef PUFFER_HAS_FINALS    // the env fills them where it sets a truncation
    puffer_note_finals(args, row, end);
#endif
}

// Zeros where nothing was logged: such a Log goes on, as it does on the CPU
static void puffer_thread_log(const EnvsArgs* args, int32_t e) {
    enum { fields = sizeof(Log) / sizeof(float) };
    Log* log = &((Env*)args->envs + e)->log;
    double* out = args->logs + (int64_t)e * fields;
    float values[fields];
    memcpy(values, log, sizeof(Log));
    bool any = log->n != 0.0f;
    for (int i = 0; i < fields; i++) out[i] = any ? (double)values[i] : 0.0;
    if (any) memset(log, 0, sizeof(Log));
}

static void puffer_thread_close(const EnvsArgs* args, int32_t e) { c_close((Env*)args->envs + e); }
