/* pufferenv.h -- what an environment of PufferLib 5.0 includes, behind `typedef float obs_t;`.
 *
 * Its functions are those of 4.0 under other names (puf_step is c_step, puf_init is my_init), so
 * that vecenv.h makes a library of it as well. What differs is in the env struct: each agent has
 * pointers of its own, to one row each.
 */
#pragma once
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PUFFER_AGENTS                                                                              \
    ((int)(sizeof(((Env*)0)->agents) / sizeof(Agent)))    // that there is room for
#include "puffer_dict.h"
#include "raylib.h"

typedef struct Env Env;
typedef struct Log Log;
#ifdef PUFFER_LATE_OBS    // obs_t is declared below the include
typedef void puffer_obs_t;
#else
typedef obs_t puffer_obs_t;
#endif

typedef struct Agent {             // pointers are bound behind puf_init
    puffer_obs_t* observations;    // (OBS_SIZE)
    float* actions;                // (NUM_ATNS) ids of discrete actions are floats, too
    float* rewards;                // (1)
    float* terminals;              // (1) 0 or 1
    unsigned char* action_mask;    // (all of ACT_SIZES added) 1 = legal
    int policy;                    // 0; k: of a frozen opponent
} Agent;

#define PUF_CPU 0
#define PUF_GPU 1
#ifndef PUF_BACKEND
#define PUF_BACKEND PUF_CPU
#endif

#ifndef PUFFER_OWN_NAMES
#define puf_init   my_init
#define puf_reset  c_reset
#define puf_step   c_step
#define puf_render c_render
#define puf_close  c_close
#define puf_log    my_log
#else
// The author has a c_step as well, beside puf_step: it is puffer_own_c_step to us. The mark of a
// call that was a puf_step is an empty first argument
#define puf_init(...)   my_init(, __VA_ARGS__)
#define puf_reset(...)  c_reset(, __VA_ARGS__)
#define puf_step(...)   c_step(, __VA_ARGS__)
#define puf_render(...) c_render(, __VA_ARGS__)
#define puf_close(...)  c_close(, __VA_ARGS__)
#define puf_log(...)    my_log(, __VA_ARGS__)
#define my_init(...)    PUFFER_NAMED(my_init, __VA_ARGS__)
#define c_reset(...)    PUFFER_NAMED(c_reset, __VA_ARGS__)
#define c_step(...)     PUFFER_NAMED(c_step, __VA_ARGS__)
#define c_render(...)   PUFFER_NAMED(c_render, __VA_ARGS__)
#define c_close(...)    PUFFER_NAMED(c_close, __VA_ARGS__)
#define my_log(...)     PUFFER_NAMED(my_log, __VA_ARGS__)

#define PUFFER_NAMED(name, first, ...) PUFFER_PICK(first)(name, first, __VA_ARGS__)
#define PUFFER_PICK(...)               PUFFER_FIRST(__VA_OPT__(PUFFER_OWN, ) PUFFER_OURS, 0)
#define PUFFER_FIRST(first, ...)       first
#define PUFFER_OURS(name, first, ...)  name(__VA_ARGS__)
#define PUFFER_OWN(name, first, ...)   puffer_own_##name(first __VA_OPT__(, ) __VA_ARGS__)
#endif
void puf_init(Env* env, Dict* kwargs);
void puf_reset(Env* env);
void puf_step(Env* env);
void puf_render(Env* env);
void puf_close(Env* env);
void puf_log(Log* log, Dict* out);

#ifndef PUF_HAS_BOT_POLICY    // the author's own may be static
static inline void puf_set_bot_policy(Env* env, int bot_policy) { (void)env, (void)bot_policy; }
#endif

static inline void puf_web_vsync(void) {}    // whoever calls puf_render waits for the screen

typedef uint16_t bf16;    // the upper half of a float

static inline bf16 f32_to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bf16)(bits >> 16);
}

static inline float bf16_to_f32(bf16 value) {
    uint32_t bits = (uint32_t)value << 16;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

#ifdef __AVX2__
#include <immintrin.h>

static inline void store_f32x8_as_bf16(bf16* to, __m256 values) {
    float each[8];
    _mm256_storeu_ps(each, values);
    for (int i = 0; i < 8; i++) to[i] = f32_to_bf16(each[i]);
}
#endif
