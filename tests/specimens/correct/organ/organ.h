// Keep an organ's pipes in tune. Settings of every kind, and each of them good for something: a limit
// that short plays never reach, a rare chance, a colour for drawing, a size that arrays follow, and
// a level out of a table. Constants of the C library's functions, which compilers fold.
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define OBS_SIZE (env->pipes + 2)
#define ACT_SIZES {3}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Organ {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int pipes;              // [env] each has a pitch
    int max_ticks;          // [env]
    int level;              // [env] 0 easy, 1, 2 hard
    float moth;             // [env] chance per tick of a moth in the bellows
    float choir_bonus;      // [env] when all pipes are in tune
    bool draughty;          // [env]
    int hue;                // [env] of the window
    float* pitch;           // (pipes) off by
    int at, tick;
    float paid;
} Organ;

static float uniform(Organ* env) {
    env->rng = env->rng * 1664525u + 1013904223u;
    return (float)(env->rng >> 8) / 16777216.0f;
}

void init(Organ* env) { env->pitch = (float*)calloc((size_t)env->pipes, sizeof(float)); }

static void listen(Organ* env) {
    for (int i = 0; i < env->pipes; i++) env->observations[i] = env->pitch[i];
    env->observations[env->pipes] = (float)env->at / (float)env->pipes;
    env->observations[env->pipes + 1] = (float)env->tick / (float)(env->tick + 1000);
}

void c_reset(Organ* env) {
    static const float spread[3] = {0.2f, 0.5f, 1.0f};
    for (int i = 0; i < env->pipes; i++)
        env->pitch[i] = spread[env->level] * (2.0f * uniform(env) - 1.0f);
    env->at = env->tick = 0;
    env->paid = 0.0f;
    listen(env);
}

void c_step(Organ* env) {
    float worst = 0.0f;
    float* pitch = &env->pitch[env->at];
    *pitch += tanhf(0.11f) * (env->actions[0] - 1.0f);
    *pitch += env->draughty ? 0.05f * sinf(2.3f) * (uniform(env) - 0.5f) : 0.0f;
    *pitch = fminf(fmaxf(*pitch, -1.5f), 1.5f);
    for (int i = 0; i < env->pipes; i++) worst = fmaxf(worst, fabsf(env->pitch[i]));
    env->rewards[0] = -0.1f * fabsf(*pitch);
    env->terminals[0] = 0.0f;
    env->at = (env->at + 1) % env->pipes;
    env->tick++;
    bool moth = uniform(env) < env->moth;
    bool tuned = worst < 0.15f;
    env->rewards[0] += tuned ? env->choir_bonus : moth ? -1.0f : 0.0f;
    env->paid += env->rewards[0];
    if (tuned || moth || env->tick >= env->max_ticks) {
        env->terminals[0] = 1.0f;
        env->log.perf += (float)tuned;
        env->log.score += (float)tuned;
        env->log.episode_return += env->paid;
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    listen(env);
}

void c_render(Organ* env) { if (env->hue > 360) env->hue = 0; }
void c_close(Organ* env) { free(env->pitch); }
