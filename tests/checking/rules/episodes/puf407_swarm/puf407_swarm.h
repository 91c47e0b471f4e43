// expect: PUF407
// Bees that find their flower, and others that hatch. Fault: the hive may hatch one bee more than
// there are rows, and num_agents counts her although she is never shown.
#pragma once
#include <math.h>
#include <stdlib.h>

enum { OBS_X, OBS_FLOWER, OBS_AGE, OBS_COUNT };     // all [-1, 1]
#define OBS_SIZE  OBS_COUNT
#define ACT_SIZES {3}
#define AGE       60

typedef struct Log {
    float perf;
    float score;
    float n;
} Log;

typedef struct Bee { float x, flower; int age; } Bee;

typedef struct Swarm {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents, max_agents;
    unsigned int rng;
    Bee* bees;
} Swarm;

static float roll(Swarm* env) {     // [-1, 1)
    env->rng = env->rng * 1664525u + 1013904223u;
    return 2.0f * (float)(env->rng >> 8) / 16777216.0f - 1.0f;
}

void init(Swarm* env) { env->bees = calloc((size_t)env->max_agents + 1, sizeof *env->bees); }

static int shown(const Swarm* env) {
    return env->num_agents < env->max_agents ? env->num_agents : env->max_agents;
}

static void observe(Swarm* env) {
    for (int i = 0; i < shown(env); i++) {
        float* o = env->observations + i * OBS_SIZE;
        o[OBS_X] = env->bees[i].x;
        o[OBS_FLOWER] = env->bees[i].flower;
        o[OBS_AGE] = (float)env->bees[i].age / AGE;
    }
}

static void hatch(Swarm* env) {
    env->bees[env->num_agents++] = (Bee){roll(env), roll(env), 0};
}

void c_reset(Swarm* env) {
    env->num_agents = 0;
    for (int i = 0; i < 2; i++) hatch(env);
    observe(env);
}

void c_step(Swarm* env) {
    int flying = shown(env);
    for (int i = 0; i < flying; i++) {
        Bee* bee = &env->bees[i];
        bee->x = fmaxf(-1.0f, fminf(1.0f, bee->x + 0.1f * (env->actions[i] - 1.0f)));
        bee->age++;
        env->rewards[i] = fabsf(bee->x - bee->flower) < 0.1f;
        env->terminals[i] = 0;
    }
    for (int i = flying - 1; i >= 0; i--) {
        if (env->rewards[i] == 0 && env->bees[i].age < AGE) continue;
        env->terminals[i] = 1;
        env->log.perf += env->rewards[i];
        env->log.score += env->rewards[i];
        env->log.n += 1;
        env->bees[i] = env->bees[--env->num_agents];
    }
    if (env->num_agents <= env->max_agents && roll(env) < -0.5f) hatch(env);
    observe(env);
}

void c_render(Swarm* env) { (void)env; }

void c_close(Swarm* env) { free(env->bees); }
