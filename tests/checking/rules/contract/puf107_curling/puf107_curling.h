// expect: PUF107
/* Curling: push the stone along the ice, sweep, and stop it near the house. An Ocean env whose
 * demo() was written before the sweeps found better ice. Fault: friction there is another one. */
#pragma once
#include <math.h>
#include <stdlib.h>

typedef struct Log Log;
struct Log {
    float perf;
    float episode_return;
    float episode_length;
    float n;
};

typedef struct Curling Curling;
struct Curling {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    double friction;
    int sheet;
    float pos, speed, house;
    int tick;
};

void compute_observations(Curling* env) {
    env->observations[0] = env->pos / env->sheet;
    env->observations[1] = env->speed / 4.0f;
    env->observations[2] = (env->house - env->pos) / env->sheet;
}

void c_reset(Curling* env) {
    env->rng = env->rng * 1103515245u + 12345u;
    env->house = env->sheet * (0.5f + (env->rng >> 16) / 131072.0f);
    env->rng = env->rng * 1103515245u + 12345u;
    env->speed = 2.5f + (env->rng >> 16) / 65536.0f;
    env->pos = 0;
    env->tick = 0;
    compute_observations(env);
}

void c_step(Curling* env) {
    float brake = (float)env->friction;
    if (env->actions[0] == 1) brake *= 0.4f;            // sweep
    if (env->actions[0] == 2) brake *= 2.5f;            // hold back
    env->speed -= brake;
    env->pos += fmaxf(env->speed, 0);
    env->tick++;
    env->rewards[0] = 0;
    env->terminals[0] = 0;
    if (env->speed <= 0) {
        float miss = fabsf(env->house - env->pos) / env->sheet;
        env->rewards[0] = fmaxf(1 - 4 * miss, -1);
        env->terminals[0] = 1;
        env->log.perf += fmaxf(1 - 4 * miss, 0);
        env->log.episode_return += env->rewards[0];
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
        return;
    }
    compute_observations(env);
}

void c_render(Curling* env) { (void)env; }
void c_close(Curling* env) { (void)env; }
