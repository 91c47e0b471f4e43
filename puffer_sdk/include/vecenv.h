/* vecenv.h -- turns one environment into a library of many. Included by binding.c, last.
 *
 * Before it, binding.c includes the environment's header and defines
 *
 *     Env              the env struct                     #define Env Squared
 *     OBS_SIZE         elements of one observation; may be an expression over `env`
 *     ACT_SIZES        head widths, 1 = continuous        {9, 5}
 *     OBS_TENSOR_T     ByteTensor or FloatTensor
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
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "puffer_abi.h"

#if defined(MY_USES_PERM) || defined(MY_USES_TAGS)
#error "MY_USES_PERM and MY_USES_TAGS (self-play) are not supported by puffer-sdk"
#endif

#ifdef __cplusplus
#define PUFFER_ASSERT(test, text) static_assert(test, text)
#else
#define PUFFER_ASSERT(test, text) _Static_assert(test, text)
#endif

// In builds with sanitizers, and in `check`'s, this file takes longer to compile than to run
#if defined(__SANITIZE_ADDRESS__) && !defined(PUFFER_UNOPTIMIZED)
#define PUFFER_UNOPTIMIZED
#endif
#if defined(PUFFER_UNOPTIMIZED) && defined(__clang__)
#pragma clang optimize off
#elif defined(PUFFER_UNOPTIMIZED) && defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("O0")
#endif

//------------------------------------------------------------------------------------
// Dict: settings in, log values out
//------------------------------------------------------------------------------------
typedef struct DictItem {
    const char* key;    // kept as a pointer: a literal, or as long-lived as the Dict
    double value;
    void* ptr;
} DictItem;

typedef struct Dict {
    DictItem* items;    // [capacity]
    int size;
    int capacity;
    bool is_vec;    // [vec], not [env]: for error texts
} Dict;

// A missing key must not become a NULL dereference inside the author's my_init: the
// call that led here is abandoned instead, with the key's name as its error
static __thread jmp_buf* puffer_escape;
static __thread char* puffer_error;

static inline void puffer_fail(const char* what, const char* name) {
    if (puffer_error) snprintf(puffer_error, PUFFER_ERROR_SIZE, "%s%s", what, name);
    if (puffer_escape) longjmp(*puffer_escape, 1);
}

static inline Dict* create_dict(int capacity) {
    Dict* dict = (Dict*)calloc(1, sizeof(Dict));
    dict->items = (DictItem*)calloc((size_t)(capacity > 0 ? capacity : 1), sizeof(DictItem));
    dict->capacity = capacity;
    return dict;
}

static inline void puffer_free_dict(Dict* dict) {
    if (dict) free(dict->items);
    free(dict);
}

static inline DictItem* dict_get_unsafe(Dict* dict, const char* key) {
    for (int i = 0; i < dict->size; i++)
        if (strcmp(dict->items[i].key, key) == 0) return &dict->items[i];
    return NULL;
}

static inline DictItem* dict_get(Dict* dict, const char* key) {
    DictItem* item = dict_get_unsafe(dict, key);
    if (!item) puffer_fail(dict->is_vec ? "missing-vec-key: " : "missing-key: ", key);
    return item;
}

static inline void dict_set(Dict* dict, const char* key, double value) {
    DictItem* item = dict_get_unsafe(dict, key);
    if (!item) {
        if (dict->size == dict->capacity) {
            puffer_fail("too many entries in a Dict at key: ", key);
            return;
        }
        item = &dict->items[dict->size++];
        item->key = key;
    }
    item->value = value;
}

static inline Dict* puffer_dict_from(const PufferSettings* settings, int extra) {
    Dict* dict = create_dict((settings ? settings->count : 0) + extra);
    for (int i = 0; settings && i < settings->count; i++)
        dict_set(dict, settings->items[i].key, settings->items[i].value);
    return dict;
}

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
typedef struct IntTensor_is_not_an_observation_type_here IntTensor;
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
PUFFER_ASSERT(puffer_num_atns <= PUFFER_MAX_HEADS, "PUF112: more than 64 entries in ACT_SIZES");
PUFFER_ASSERT(sizeof(Log) % sizeof(float) == 0, "PUF104: Log holds something but floats");
PUFFER_ASSERT(offsetof(Log, n) + sizeof(float) == sizeof(Log), "PUF104: n is not Log's last field");
PUFFER_ASSERT(sizeof(*((OBS_TENSOR_T*)0)->data) == sizeof(*((Env*)0)->observations),
              "PUF103: OBS_TENSOR_T is not the type that observations points to");

enum { puffer_log_fields = (int)(sizeof(Log) / sizeof(float)) };    // n is the last

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
// Many envs
//------------------------------------------------------------------------------------
struct PufferVec {
    StaticVec view;    // handed to MY_VEC_STEP; view.envs is `envs`
    Env* envs;         // [num_envs]
    int32_t num_envs;
    int32_t total_agents;               // N
    int32_t obs_size;                   // D
    int32_t* first_row;                 // [num_envs + 1] row where each env's agents begin
    uint64_t seed;                      // of all; env e's own is puffer_mix(seed, e)
    uint32_t* rand_states;              // [num_envs] generators behind rand()
    float** rewards;                    // [num_envs] as bound
    float** terminals;                  // [num_envs]
    float** truncations;                // [num_envs] or NULLs
    double added[puffer_log_fields];    // sums that add_log brought, not yet collected
    char* adjacent;    // [num_envs + 1] 1 where an env's rows follow its neighbour's
};

// splitmix64's finaliser: seed and index in, 32 well-mixed bits out
static inline uint32_t puffer_mix(uint64_t seed, uint64_t index) {
    uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (uint32_t)((z ^ (z >> 31)) >> 16);
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

// Behind an error text: the numbers nearest to this one that are multiples of a step
static inline void puffer_suggest(char* error, int32_t number, int32_t step) {
    int64_t low = number < step ? step : (int64_t)number / step * step, high = low + step;
    size_t used = strlen(error);
    if (low == number || number < step)
        snprintf(error + used, PUFFER_ERROR_SIZE - used, "; try: %lld", (long long)low);
    else
        snprintf(error + used, PUFFER_ERROR_SIZE - used, "; try: %lld or %lld", (long long)low,
                 (long long)high);
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
                               char* error) {
    Dict* volatile kwargs = puffer_dict_from(settings, 0);
    Dict* volatile logs = create_dict(PUFFER_MAX_LOG);
    jmp_buf escape;
    int32_t status = -1;

    puffer_error = error;
    puffer_escape = &escape;
    if (setjmp(escape) == 0) {
        memset(out, 0, sizeof(*out));
        out->name = PUFFER_NAME;
        out->obs_dtype = obs_element_size() == 1 ? PUFFER_U8 : PUFFER_F32;
        out->obs_size = puffer_described_size(kwargs);
        out->num_atns = puffer_num_atns;
        for (int k = 0; k < puffer_num_atns; k++) out->act_sizes[k] = puffer_act_sizes[k];
        out->mask_size = puffer_mask_size;
#ifdef PUFFER_HAS_TRUNCATIONS
        out->has_truncations = 1;
#endif
#ifdef MY_VEC_STEP
        out->whole_steps = 1;
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

static int32_t puffer_agents_per_env(const PufferSettings* settings, PufferWatch* watch,
                                     char* error) {
#ifdef MY_VEC_INIT
    (void)settings;
    (void)watch;
    (void)error;
    return 1;
#else
    PufferWatch spare = {0, 0, 0, 0, 0};
    Dict* volatile kwargs = puffer_dict_from(settings, 8);
    Env* volatile env = (Env*)calloc(1, sizeof(Env));
    volatile int32_t agents = -1;
    PufferWatch* volatile seen = puffer_enter(watch, &spare, PUFFER_INIT, 0);
    jmp_buf escape;

    puffer_error = error;
    puffer_escape = &escape;
    if (setjmp(escape) == 0) {
        env->num_agents = 1;
        my_init(env, kwargs);    // what it allocates is small, and c_close wants a reset env
        agents = env->num_agents;
        if (agents < 1) snprintf(error, PUFFER_ERROR_SIZE, "agents: num_agents is %d", agents);
    }
    puffer_escape = NULL;
    puffer_error = NULL;
    puffer_leave(seen);
    free(env);
    puffer_free_dict(kwargs);
    return agents;
#endif
}

static void puffer_free_vec(PufferVec* vec) {
    if (!vec) return;
    free(vec->view.buffer_env_starts);
    free(vec->view.buffer_env_counts);
    free(vec->first_row);
    free(vec->rand_states);
    free(vec->rewards);
    free(vec->terminals);
    free(vec->truncations);
    free(vec->adjacent);
    free(vec);
}

#ifdef MY_VEC_INIT
static bool puffer_create_envs(PufferVec* vec, uint64_t seed, Dict* kwargs, Dict* vec_kwargs,
                               PufferWatch* watch, char* error) {
    uint32_t vec_rand = puffer_mix(seed, 0);
    watch->env = 0;
    puffer_rand_state = &vec_rand;
    int count = 0;
    vec->envs = my_vec_init(&count, vec->view.buffer_env_starts, vec->view.buffer_env_counts,
                            vec_kwargs, kwargs);
    vec->num_envs = count;
    if (!vec->envs || count < 1 || count > vec->total_agents) {
        snprintf(error, PUFFER_ERROR_SIZE, "tiling: my_vec_init made %d envs for %d agents", count,
                 vec->total_agents);
        return false;
    }
    for (int e = 0; e < count; e++) {
        Env* env = &vec->envs[e];
        if (env->num_agents < 1) {
            snprintf(error, PUFFER_ERROR_SIZE, "agents: env %d has num_agents = %d", e,
                     env->num_agents);
            return false;
        }
        // my_vec_init seeds as it likes, by number perhaps; the run's seed has a say as well
        env->rng = puffer_mix(seed, env->rng);
        vec->rand_states[e] = puffer_mix(seed, (uint64_t)e);
        vec->first_row[e + 1] = vec->first_row[e] + env->num_agents;
    }
    if (vec->first_row[count] != vec->total_agents) {
        snprintf(error, PUFFER_ERROR_SIZE,
                 "tiling: my_vec_init made envs with %d agents in all, "
                 "total_agents is %d; try: %d",
                 vec->first_row[count], vec->total_agents, vec->first_row[count]);
        return false;
    }
    for (int b = 0, next = 0; b < vec->view.buffers; b++) {
        int start = vec->view.buffer_env_starts[b], envs = vec->view.buffer_env_counts[b];
        int end = start + envs;
        bool inside = start == next && envs > 0 && end <= count;
        int rows = inside ? vec->first_row[end] - vec->first_row[start] : 0;
        if (!inside || rows != vec->view.agents_per_buffer) {
            snprintf(error, PUFFER_ERROR_SIZE,
                     "tiling: my_vec_init gives buffer %d the envs "
                     "%d to %d, which must follow on env %d and hold %d agents",
                     b, start, end - 1, next - 1, vec->view.agents_per_buffer);
            return false;
        }
        next = end;
    }
    return true;
}
#else
static bool puffer_create_envs(PufferVec* vec, uint64_t seed, Dict* kwargs, Dict* vec_kwargs,
                               PufferWatch* watch, char* error) {
    (void)vec_kwargs;
    // Room for one env an agent: pages that no env uses are never touched
    vec->envs = (Env*)calloc((size_t)vec->total_agents, sizeof(Env));
    if (!vec->envs) {
        snprintf(error, PUFFER_ERROR_SIZE, "memory: no room for %d envs of %zu bytes",
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
            vec->rand_states[e] = puffer_mix(seed, (uint64_t)e);
            puffer_at(vec, e, watch);
            env->rng = vec->rand_states[e];
            env->num_agents = 1;
            vec->num_envs++;    // first, so that destroy closes an env whose my_init escaped
            my_init(env, kwargs);
            if (env->num_agents < 1) {
                snprintf(error, PUFFER_ERROR_SIZE, "agents: env %d has num_agents = %d", e,
                         env->num_agents);
                return false;
            }
            row += env->num_agents;
            vec->first_row[e + 1] = row;
        }
        vec->view.buffer_env_counts[b] = vec->num_envs - vec->view.buffer_env_starts[b];
        if (row != begin + per_buffer) {
            int last = vec->envs[vec->num_envs - 1].num_agents;
            snprintf(error, PUFFER_ERROR_SIZE,
                     "tiling: buffer %d has room for %d agents, but "
                     "whole envs (the last has %d agents) fill %d",
                     b, per_buffer, last, row - begin);
            bool uniform = true;
            for (int e = 0; e < vec->num_envs; e++) uniform &= vec->envs[e].num_agents == last;
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
                                PufferWatch* watch, char* error) {
    PufferWatch spare = {0, 0, 0, 0, 0};
    if (total_agents < 1 || num_buffers < 1 || total_agents % num_buffers) {
        int32_t agents = puffer_agents_per_env(settings, watch, error);
        if (agents < 1) return NULL;
        snprintf(error, PUFFER_ERROR_SIZE, "tiling: %d agents cannot be cut into %d equal buffers",
                 total_agents, num_buffers);
        puffer_suggest(error, total_agents, agents * (num_buffers < 1 ? 1 : num_buffers));
        return NULL;
    }
    PufferVec* volatile vec = (PufferVec*)calloc(1, sizeof(PufferVec));
    if (!vec) {
        snprintf(error, PUFFER_ERROR_SIZE, "memory: no room for anything");
        return NULL;
    }
    size_t rows = (size_t)total_agents;
    vec->total_agents = total_agents;
    vec->first_row = (int32_t*)calloc(rows + 1, sizeof(int32_t));
    vec->seed = seed;
    vec->rand_states = (uint32_t*)calloc(rows, sizeof(uint32_t));
    vec->rewards = (float**)calloc(rows, sizeof(float*));
    vec->terminals = (float**)calloc(rows, sizeof(float*));
    vec->truncations = (float**)calloc(rows, sizeof(float*));
    vec->adjacent = (char*)calloc(rows + 1, sizeof(char));
    vec->view.buffers = num_buffers;
    vec->view.agents_per_buffer = total_agents / num_buffers;
    vec->view.total_agents = total_agents;
    vec->view.buffer_env_starts = (int*)calloc((size_t)num_buffers, sizeof(int));
    vec->view.buffer_env_counts = (int*)calloc((size_t)num_buffers, sizeof(int));

    if (!vec->first_row || !vec->rand_states || !vec->rewards || !vec->terminals
        || !vec->truncations || !vec->adjacent || !vec->view.buffer_env_starts
        || !vec->view.buffer_env_counts) {
        snprintf(error, PUFFER_ERROR_SIZE, "memory: no room for %d agents", total_agents);
        puffer_free_vec(vec);
        return NULL;
    }
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
        good = puffer_create_envs(vec, seed, kwargs, vec_kwargs, seen, error);
        vec->obs_size = puffer_described_size(kwargs);    // what callers have made room for
        for (int32_t e = 0; good && e < vec->num_envs; e++) {
            int size = puffer_obs_size(&vec->envs[e]);
            if (size < 1 || size != vec->obs_size) {
                snprintf(error, PUFFER_ERROR_SIZE,
                         "sizes: OBS_SIZE is %d by the settings alone "
                         "and %d in env %d after init",
                         vec->obs_size, size, e);
                good = false;
            }
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

static int32_t puffer_num_envs(const PufferVec* vec) { return vec->num_envs; }

static uint32_t puffer_env_seed(const PufferVec* vec, int32_t env) {
    return puffer_mix(vec->seed, (uint64_t)env);
}

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
    return true;
}

static void puffer_bind(PufferVec* vec, int32_t e, const PufferBuffers* buffers) {
    Env* env = &vec->envs[e];
    PUFFER_POINT(env->observations, buffers->observations);
    PUFFER_POINT(env->actions, buffers->actions);
    PUFFER_POINT(env->rewards, buffers->rewards);
    PUFFER_POINT(env->terminals, buffers->terminals);
#ifdef PUFFER_HAS_TRUNCATIONS
    PUFFER_POINT(env->truncations, buffers->truncations);
    vec->truncations[e] = buffers->truncations;
#endif
#ifdef MY_ACTION_MASK
    PUFFER_POINT(env->action_mask, buffers->action_mask);
#endif
    vec->rewards[e] = buffers->rewards;
    vec->terminals[e] = buffers->terminals;
    for (int32_t next = e; next <= e + 1; next++)    // this env and the one behind it
        if (next > 0 && next < vec->num_envs) vec->adjacent[next] = puffer_follows(vec, next);
    if (e == 0) {
        vec->view.observations = buffers->observations;
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
        e = stop;
    }
}

static void puffer_reset(PufferVec* vec, int32_t first, int32_t count, PufferWatch* watch) {
    PufferWatch spare = {0, 0, 0, 0, 0};
    watch = puffer_enter(watch, &spare, PUFFER_RESET, vec->seed);
    for (int32_t e = first; e < first + count; e++) {
        puffer_at(vec, e, watch);
        c_reset(&vec->envs[e]);
    }
    puffer_clear(vec, first, count);
    puffer_leave(watch);
}

static void puffer_step(PufferVec* vec, int32_t first, int32_t count, int32_t flags,
                        PufferWatch* watch) {
    PufferWatch spare = {0, 0, 0, 0, 0};
    watch = puffer_enter(watch, &spare, PUFFER_STEP, vec->seed);
#ifdef MY_VEC_STEP    // all envs or none
    first = 0;
    count = vec->num_envs;
#endif
    if (!(flags & PUFFER_KEEP_REWARDS)) puffer_clear(vec, first, count);
#ifdef MY_VEC_STEP
    puffer_at(vec, 0, watch);
    MY_VEC_STEP(&vec->view);
#else
    Env* envs = vec->envs;    // the compiler cannot know that c_step leaves these be
    uint32_t* rand_states = vec->rand_states;
    (void)envs;
    for (int32_t e = first; e < first + count; e++) {
        watch->env = e;
        puffer_rand_state = &rand_states[e];
#ifdef MY_VEC_STEP_RANGE    // an env at a time: rand() must not depend on the range
        MY_VEC_STEP_RANGE(&vec->view, e, 1, 1);
#else
        c_step(&envs[e]);
#endif
    }
#endif
    puffer_leave(watch);
}

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
    double n = sums[fields - 1];
    if (n <= 0.0) return 0.0;

    float means[fields];
    Log mean;
    for (int i = 0; i < fields; i++) means[i] = (float)(sums[i] / n);
    memcpy(&mean, means, sizeof(Log));
    Dict* logs = create_dict(PUFFER_MAX_LOG);
    my_log(&mean, logs);
    for (int i = 0; i < logs->size; i++) out[i] = logs->items[i].value;
    puffer_free_dict(logs);
    return n;
}

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

static int32_t puffer_log_size(void) { return puffer_log_fields; }

static void* puffer_env_struct(PufferVec* vec, int32_t env) { return &vec->envs[env]; }

static int64_t puffer_env_struct_size(void) { return (int64_t)sizeof(Env); }

#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("default"))) const PufferApi*
    puffer_api(void) {
    static const PufferApi api = {
        PUFFER_ABI_VERSION,
        (int32_t)sizeof(PufferApi),
        puffer_describe,
        puffer_agents_per_env,
        puffer_create,
        puffer_destroy,
        puffer_num_envs,
        puffer_env_seed,
        puffer_rows,
        puffer_slice,
        puffer_bind,
        puffer_reset,
        puffer_step,
        puffer_collect_log,
        puffer_render,
        puffer_env_struct,
        puffer_env_struct_size,
        puffer_add_log,
        puffer_log_size,
    };
    return &api;
}

#if defined(PUFFER_UNOPTIMIZED) && defined(__clang__)
#pragma clang optimize on
#elif defined(PUFFER_UNOPTIMIZED) && defined(__GNUC__)
#pragma GCC pop_options
#endif
