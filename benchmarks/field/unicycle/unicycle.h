// unicycle.h - keep a unicycle upright on a short stage and ride it to flags.
//
// One rider, one continuous action: the push on the pedals, -1 (back) .. 1 (ahead).
// A gusty wind pushes at the saddle. A flag reached gives up to one point, sooner is
// better; then the next flag goes up somewhere near. Falling over or rolling off the
// stage costs a point and ends the ride, all flags or the curfew end it too.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdbool.h>
#include "raylib.h"

enum {
    OBS_TILT,       // [-1, 1] lean, as a share of the lean that is a fall
    OBS_SPIN,       // [-1, 1] rate of lean, clipped
    OBS_PLACE,      // [-1, 1] where on the stage
    OBS_SPEED,      // [-1, 1] clipped
    OBS_FLAG,       // [-1, 1] way to the flag
    OBS_WIND,       // [-1, 1] what the cheeks feel
    OBS_CLOCK,      // [0, 1] how much of the show is over
    OBS_DONE,       // [0, 1] share of flags reached
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT
#define ACT_SIZES {1}

#define DT 0.04f
#define GRAVITY 9.81f
#define POLE 1.1f
#define MAX_SPIN 4.0f
#define MAX_SPEED 3.0f
#define NEAR 0.15f

typedef enum { RIDING, FELL, OFF_STAGE, CURFEW, ALL_FLAGS } Ending;

typedef struct {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    // settings
    float stage;        // half its length, metres
    float lean;         // radians that count as a fall
    float gust;         // strength of the wind, m/s2
    float strength;     // of the rider's legs, m/s2
    int flags;          // to be reached
    int curfew;         // ticks

    // one ride
    float x, v, tilt, spin, wind, flag;
    int reached, since, tick;
    float ret;
} Unicycle;

static inline float uniform(unsigned int* s, float lo, float hi) {
    *s = *s * 1664525u + 1013904223u;
    return lo + (hi - lo) * ((float)(*s >> 8) / 16777216.0f);
}

static inline float clip(float v, float lo, float hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

void init(Unicycle* env) {
    if (env->flags < 1) env->flags = 1;
    if (env->curfew < 1) env->curfew = 1;
}

static void raise_flag(Unicycle* env) {
    env->flag = clip(env->x + uniform(&env->rng, -0.6f, 0.6f), -env->stage, env->stage);
    env->since = 0;
}

static void look(Unicycle* env) {
    float* o = env->observations;
    o[OBS_TILT] = env->tilt / env->lean;
    o[OBS_SPIN] = clip(env->spin / MAX_SPIN, -1.0f, 1.0f);
    o[OBS_PLACE] = env->x / env->stage;
    o[OBS_SPEED] = clip(env->v / MAX_SPEED, -1.0f, 1.0f);
    o[OBS_FLAG] = (env->flag - env->x) / (2.0f * env->stage);
    o[OBS_WIND] = env->wind;
    o[OBS_CLOCK] = (float)env->tick / (float)env->curfew;
    o[OBS_DONE] = (float)env->reached / (float)env->flags;
}

void c_reset(Unicycle* env) {
    env->x = uniform(&env->rng, -0.5f, 0.5f) * env->stage;
    env->v = 0.0f;
    env->tilt = uniform(&env->rng, -0.1f, 0.1f) * env->lean;
    env->spin = 0.0f;
    env->wind = 0.0f;
    env->reached = 0;
    env->tick = 0;
    env->ret = 0.0f;
    raise_flag(env);
    look(env);
}

static void ride(Unicycle* env, float push) {
    // the wind wanders between -1 and 1 and pulls back to calm
    env->wind = clip(0.95f * env->wind + uniform(&env->rng, -0.3f, 0.3f), -1.0f, 1.0f);
    float a = env->strength * push;
    float lean_acc = (GRAVITY * sinf(env->tilt) - a * cosf(env->tilt) + env->gust * env->wind) / POLE;
    env->spin += DT * lean_acc;
    env->tilt += DT * env->spin;
    env->v = clip(env->v + DT * a, -MAX_SPEED, MAX_SPEED);
    env->x += DT * env->v;
}

static void finish(Unicycle* env, Ending how) {
    Log* log = &env->log;
    log->perf += (float)env->reached / (float)env->flags;
    log->score += how == ALL_FLAGS ? 1.0f : 0.0f;
    log->episode_return += env->ret;
    log->episode_length += (float)env->tick;
    log->n += 1.0f;
}

void c_step(Unicycle* env) {
    float push = clip(env->actions[0], -1.0f, 1.0f);
    float reward = 0.0f;
    Ending how = RIDING;

    ride(env, push);
    env->tick++;
    env->since++;

    if (fabsf(env->flag - env->x) < NEAR) {
        reward += 0.5f + 0.5f / (float)env->since;
        env->reached++;
        raise_flag(env);
    }
    if (fabsf(env->tilt) > env->lean) how = FELL;
    else if (fabsf(env->x) > env->stage) how = OFF_STAGE;
    else if (env->reached >= env->flags) how = ALL_FLAGS;
    else if (env->tick >= env->curfew) how = CURFEW;
    if (how == FELL || how == OFF_STAGE) reward -= 1.0f;

    env->ret += reward;
    env->rewards[0] = reward;
    env->terminals[0] = how != RIDING ? 1.0f : 0.0f;
    if (how != RIDING) {
        finish(env, how);
        c_reset(env);
    } else {
        look(env);
    }
}

void c_render(Unicycle* env) {
    if (!IsWindowReady()) {
        InitWindow(800, 300, "unicycle");
        SetTargetFPS(25);
    }
    float scale = 380.0f / env->stage;
    int x = (int)(400.0f + scale * env->x);
    BeginDrawing();
    ClearBackground(BLACK);
    DrawLine(20, 250, 780, 250, GRAY);
    DrawCircle(x, 235, 15.0f, SKYBLUE);
    DrawLine(x, 235, x + (int)(120.0f * sinf(env->tilt)), 235 - (int)(120.0f * cosf(env->tilt)), WHITE);
    DrawRectangle((int)(400.0f + scale * env->flag), 200, 4, 50, RED);
    EndDrawing();
}

void c_close(Unicycle* env) {
    (void)env;
}
