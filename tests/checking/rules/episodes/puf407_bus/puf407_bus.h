// expect: PUF407
// Passengers on a bus: each gets off at a stop of its own, or misses it. Fault: num_agents counts
// those who still ride, but there is no max_agents, so that rows of those who got off stay as they
// were.
#pragma once
#include <string.h>

enum { OBS_STOP, OBS_WANTED, OBS_RIDING, OBS_COUNT };       // all [0, 1]
#define OBS_SIZE  OBS_COUNT
#define ACT_SIZES {2}
#define STOPS     24
#define MOST      8

typedef struct Log {
    float perf;
    float score;
    float n;
} Log;

typedef struct Bus {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int seats;                      // [1, 8]
    int stop, wanted[MOST];
    float sum;
} Bus;

static int below(unsigned int* rng, int n) {
    *rng = *rng * 1664525u + 1013904223u;
    return (int)(*rng >> 8) % n;
}

void init(Bus* env) {
    if (env->seats > MOST) env->seats = MOST;
    env->num_agents = env->seats;
}

static void observe(Bus* env) {
    for (int i = 0; i < env->num_agents; i++) {
        float* o = env->observations + i * OBS_SIZE;
        o[OBS_STOP] = (float)env->stop / STOPS;
        o[OBS_WANTED] = (float)env->wanted[i] / STOPS;
        o[OBS_RIDING] = (float)env->num_agents / (float)env->seats;
    }
}

void c_reset(Bus* env) {
    env->num_agents = env->seats;
    env->stop = below(&env->rng, 4);
    env->sum = 0;
    for (int i = 0; i < env->num_agents; i++) env->wanted[i] = 6 + below(&env->rng, STOPS - 6);
    observe(env);
}

void c_step(Bus* env) {
    memset(env->rewards, 0, (size_t)env->seats * sizeof(float));
    memset(env->terminals, 0, (size_t)env->seats * sizeof(float));
    env->stop++;
    for (int i = env->num_agents - 1; i >= 0; i--) {
        if (env->actions[i] != 1.0f || env->stop < env->wanted[i] - 2) continue;
        env->rewards[i] = env->stop == env->wanted[i];
        env->sum += env->rewards[i];
        env->terminals[i] = 1;
        env->num_agents--;
        env->wanted[i] = env->wanted[env->num_agents];
    }
    if (env->num_agents > 0 && env->stop < STOPS) {
        observe(env);
        return;
    }
    for (int i = 0; i < env->seats; i++) env->terminals[i] = 1;
    env->log.perf += env->sum / (float)env->seats;
    env->log.score += env->sum;
    env->log.n += 1;
    c_reset(env);
}

void c_render(Bus* env) { (void)env; }

void c_close(Bus* env) { (void)env; }
