// The step after an ending begins the next episode; the return counts the last reward twice.
#pragma once
#include <stdlib.h>
#include <math.h>

#define OBS_SIZE 2
#define ACT_SIZES {3}

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct LateResetLog {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int max_ticks;
    int tick, pending;
    float height, speed, ret;
} LateResetLog;

static float unit(unsigned int* rng) { return (float)rand_r(rng) / (float)RAND_MAX; }

static void observe(LateResetLog* env) {
    env->observations[0] = env->height;
    env->observations[1] = env->speed;
}

void c_reset(LateResetLog* env) {
    env->tick = 0;
    env->ret = 0.0f;
    env->pending = 0;
    env->height = 1.0f + unit(&env->rng);
    env->speed = 0.0f;
    observe(env);
}

static void finish(LateResetLog* env, float reward) {
    env->rewards[0] = reward;
    env->ret += reward;
    env->terminals[0] = 1.0f;
    env->log.perf += reward > 0.0f;
    env->log.score += reward;
    env->log.episode_return += env->ret;
    env->log.episode_length += env->tick;
    env->log.n += 1.0f;
    env->pending = 1;
}

void c_step(LateResetLog* env) {
    if (env->pending) c_reset(env);
    env->terminals[0] = 0.0f;
    env->tick++;
    float before = env->height;
    env->speed += 0.02f * ((int)env->actions[0] - 1) - 0.005f;
    env->height += env->speed;
    env->rewards[0] = 0.2f * (before - env->height) - 0.01f;
    env->ret += env->rewards[0];
    if (env->height <= 0.0f) finish(env, env->speed > -0.1f ? 1.0f : -1.0f);
    else if (env->tick >= env->max_ticks || env->height > 4.0f) finish(env, -0.25f);
    observe(env);
}

void c_render(LateResetLog* env) { (void)env; }
void c_close(LateResetLog* env) { (void)env; }
