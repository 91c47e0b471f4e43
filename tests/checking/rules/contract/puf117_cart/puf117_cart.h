// expect: PUF117
// Park a cart on a mark. Fault: the distance is taken with abs(), which is for ints.
#pragma once
#include <stdlib.h>

#define OBS_SIZE 3
#define ACT_SIZES {3}

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Cart {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int max_ticks;
    int tick;
    float x, mark, ret;
} Cart;

static float signed_unit(unsigned int* rng) { return 2.0f * (float)rand_r(rng) / (float)RAND_MAX - 1.0f; }

static void observe(Cart* env) {
    env->observations[0] = env->x > env->mark ? 1.0f : -1.0f;
    env->observations[1] = abs(env->x - env->mark) / 2.0f;
    env->observations[2] = env->x;
}

void c_reset(Cart* env) {
    env->tick = 0;
    env->ret = 0.0f;
    env->x = signed_unit(&env->rng);
    env->mark = signed_unit(&env->rng);
    observe(env);
}

void c_step(Cart* env) {
    env->terminals[0] = 0.0f;
    env->tick++;
    env->x += 0.1f * ((int)env->actions[0] - 1);
    if (env->x > 1.0f) env->x = 1.0f;
    if (env->x < -1.0f) env->x = -1.0f;
    env->rewards[0] = abs(env->x - env->mark) < 0.05f ? 0.1f : 0.0f;
    env->ret += env->rewards[0];
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

void c_render(Cart* env) { (void)env; }
void c_close(Cart* env) { (void)env; }
