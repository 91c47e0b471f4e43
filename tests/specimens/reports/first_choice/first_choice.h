// The first of 128 choices decides, and is paid at the end.
#pragma once
#include <stdlib.h>

#define OBS_SIZE 2
#define ACT_SIZES {2}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct FirstChoice {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int length;
    int tick, right, chosen;
} FirstChoice;

static void observe(FirstChoice* env) {
    env->observations[0] = env->tick == 0 ? (env->right ? 1.0f : -1.0f) : 0.0f;
    env->observations[1] = env->tick / (float)env->length;
}

void c_reset(FirstChoice* env) {
    env->tick = 0;
    env->chosen = 0;
    env->right = (int)(((unsigned int)rand_r(&env->rng) >> 8) & 1u);
    observe(env);
}

void c_step(FirstChoice* env) {
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    if (env->tick == 0) env->chosen = (int)env->actions[0];
    env->tick++;
    if (env->tick >= env->length) {
        int won = env->chosen == env->right;
        env->rewards[0] = won ? 1.0f : 0.0f;
        env->terminals[0] = 1.0f;
        env->log.perf += won;
        env->log.score += won;
        env->log.episode_return += env->rewards[0];
        env->log.episode_length += env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(FirstChoice* env) { (void)env; }
void c_close(FirstChoice* env) { (void)env; }
