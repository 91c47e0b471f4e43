// expect: PUF103
// Catch melons that fall into one of eight lanes. Fault: binding.c says bytes, these are floats.
#pragma once
#include <string.h>

typedef struct Log { float perf; float n; } Log;

typedef struct Melon {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int lane, row, basket;
} Melon;

void observe(Melon* env) {
    memset(env->observations, 0, 16 * sizeof(float));
    env->observations[env->lane] = 1.0f - env->row / 8.0f;
    env->observations[8 + env->basket] = 1.0f;
}

void c_reset(Melon* env) {
    env->rng = env->rng * 1103515245u + 12345u;
    env->lane = (env->rng >> 16) % 8;
    env->row = 0;
    env->basket = 4;
    observe(env);
}

void c_step(Melon* env) {
    int move = (int)env->actions[0] - 1;
    if (env->basket + move >= 0 && env->basket + move < 8) env->basket += move;
    env->row++;
    env->rewards[0] = 0;
    env->terminals[0] = 0;
    if (env->row == 8) {
        env->rewards[0] = env->lane == env->basket ? 1 : -1;
        env->terminals[0] = 1;
        env->log.perf += env->lane == env->basket;
        env->log.n += 1;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Melon* env) { (void)env; }
void c_close(Melon* env) { (void)env; }
