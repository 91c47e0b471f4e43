// Dig for a relic, warmer or colder. Idiom: a binding with the hooks that nothing calls.
#include <stdlib.h>
#include "raylib.h"

typedef struct {
    float perf;
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
    float depth;
    int tick;
} Relics;

void c_reset(Relics* env) {
    env->tick = 0;
    env->depth = (float)random() / (float)RAND_MAX * 2.0f - 1.0f;
    env->observations[0] = 0;
}

void c_step(Relics* env) {
    float miss = env->actions[0] - env->depth;
    env->rewards[0] = -(miss < 0 ? -miss : miss);
    env->observations[0] = miss > 0;
    env->tick++;
    if (env->rewards[0] > -0.05f || env->tick >= 20) {
        env->terminals[0] = 1;
        env->log.perf += env->rewards[0] > -0.05f;
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
    }
}

void c_render(Relics* env) { (void)env; }
void c_close(Relics* env) { (void)env; }
