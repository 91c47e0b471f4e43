// init calls allocate(), which is meant for the standalone program.
#pragma once
#include <stdlib.h>

#define OBS_SIZE 2
#define ACT_SIZES {2}

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct OwnArrays {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int max_ticks;
    int tick, want;
    float ret;
} OwnArrays;

void allocate(OwnArrays* env) {
    env->observations = (float*)calloc(OBS_SIZE, sizeof(float));
    env->actions = (float*)calloc(1, sizeof(float));
    env->rewards = (float*)calloc(1, sizeof(float));
    env->terminals = (float*)calloc(1, sizeof(float));
}

void init(OwnArrays* env) {
    allocate(env);
}

static void observe(OwnArrays* env) {
    env->observations[0] = env->want ? 1.0f : -1.0f;
    env->observations[1] = env->tick / (float)env->max_ticks;
}

void c_reset(OwnArrays* env) {
    env->tick = 0;
    env->ret = 0.0f;
    env->want = (int)(((unsigned int)rand_r(&env->rng) >> 7) & 1u);
    observe(env);
}

void c_step(OwnArrays* env) {
    env->terminals[0] = 0.0f;
    env->tick++;
    env->rewards[0] = (int)env->actions[0] == env->want ? 0.1f : 0.0f;
    env->ret += env->rewards[0];
    env->want = (int)(((unsigned int)rand_r(&env->rng) >> 7) & 1u);
    if (env->tick >= env->max_ticks) {
        env->terminals[0] = 1.0f;
        env->log.perf += 10.0f * env->ret / env->max_ticks;
        env->log.score += env->ret;
        env->log.episode_return += env->ret;
        env->log.episode_length += env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(OwnArrays* env) { (void)env; }
void c_close(OwnArrays* env) { (void)env; }
