// Hold a kiln at its temperature. Idioms: the struct is called Env, init allocates.
#include <stdlib.h>
#include "raylib.h"

typedef struct {
    float perf;
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
    int bricks;
    float* heat;                // (bricks)
    float target;
    float total;
    int tick;
} Env;

void init(Env* env) {
    env->heat = (float*)calloc(env->bricks, sizeof(float));
}

static float outside(Env* env) {
    for (int b = env->bricks - 1; b > 0; b--) {
        env->heat[b] += 0.3f * (env->heat[b - 1] - env->heat[b]);
    }
    return env->heat[env->bricks - 1];
}

void c_reset(Env* env) {
    for (int b = 0; b < env->bricks; b++) env->heat[b] = 0;
    env->target = 0.2f + (float)(rand_r(&env->rng) % 60) / 100.0f;
    env->total = 0;
    env->tick = 0;
    env->observations[0] = 0;
    env->observations[1] = env->target;
}

void c_step(Env* env) {
    const float fire[4] = {0.0f, 0.3f, 0.6f, 1.0f};
    env->heat[0] += 0.2f * (fire[(int)env->actions[0]] - env->heat[0]);
    float miss = outside(env) - env->target;
    env->rewards[0] = 0.1f - (miss < 0 ? -miss : miss);
    env->terminals[0] = 0;
    env->total += env->rewards[0];
    env->tick++;
    env->observations[0] = env->heat[env->bricks - 1];
    if (env->tick == 80) {
        env->terminals[0] = 1;
        env->log.perf += env->total > 0;
        env->log.episode_return += env->total;
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
    }
}

void c_render(Env* env) { (void)env; }

void c_close(Env* env) {
    free(env->heat);
}
