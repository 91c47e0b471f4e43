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

#define puf_init   my_init
#define puf_reset  c_reset
#define puf_step   c_step
#define puf_render c_render
#define puf_close  c_close
#define puf_log    my_log
void puf_init(Env* env, Dict* kwargs);
void puf_reset(Env* env);
void puf_step(Env* env);
void puf_render(Env* env);
void puf_close(Env* env);
void puf_log(Log* log, Dict* out);

#ifdef PUF_HAS_BOT_POLICY
void puf_set_bot_policy(Env* env, int bot_policy);
#else
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
