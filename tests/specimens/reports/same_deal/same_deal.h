// c_reset stores the first seed and puts it back: every episode of an env is the same game.
#pragma once
#include <stdlib.h>

#define BOXES 8
#define OBS_SIZE 10
#define ACT_SIZES {3}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct SameDeal {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int max_ticks;
    unsigned int seed;
    int started;
    int tick, at, prize;
} SameDeal;

static int below(unsigned int* rng, int n) { return (int)((unsigned int)rand_r(rng) % (unsigned int)n); }

static void observe(SameDeal* env) {
    for (int i = 0; i < BOXES; i++) env->observations[i] = i == env->at ? 1.0f : 0.0f;
    env->observations[8] = env->prize / (float)BOXES;
    env->observations[9] = env->tick / (float)env->max_ticks;
}

void c_reset(SameDeal* env) {
    if (!env->started) {
        env->seed = env->rng;
        env->started = 1;
    }
    env->rng = env->seed;
    env->tick = 0;
    env->at = below(&env->rng, BOXES);
    env->prize = below(&env->rng, BOXES);
    if (env->prize == env->at) env->prize = (env->at + 1) % BOXES;
    observe(env);
}

void c_step(SameDeal* env) {
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    env->tick++;
    env->at += (int)env->actions[0] - 1;
    if (env->at < 0) env->at = 0;
    if (env->at >= BOXES) env->at = BOXES - 1;
    int won = env->at == env->prize;
    if (won || env->tick >= env->max_ticks) {
        env->rewards[0] = won ? 1.0f : -1.0f;
        env->terminals[0] = 1.0f;
        env->log.perf += won ? 1.0f : 0.0f;
        env->log.score += env->rewards[0];
        env->log.episode_return += env->rewards[0];
        env->log.episode_length += env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(SameDeal* env) { (void)env; }
void c_close(SameDeal* env) { (void)env; }
