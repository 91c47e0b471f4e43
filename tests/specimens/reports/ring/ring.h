// The state is on the heap; the struct has one array that observe() fills anew each tick.
#pragma once
#include <stdlib.h>
#include <string.h>
#include "raylib.h"
#define TILES 256
#define WALKERS 4
#define OBS_SIZE 3
#define ACT_SIZES {2}
typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;
typedef struct Ring {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int* state;                     // [WALKERS] where each is, then the tick, then what was paid to each
    unsigned char crowd[TILES];     // how many stand there: scratch of observe()
} Ring;
static int draw(Ring* env, int n) {
    env->rng = env->rng * 1664525u + 1013904223u;
    return (int)((env->rng >> 8) % (unsigned)n);
}
void init(Ring* env) { env->num_agents = WALKERS; env->state = calloc(2 * WALKERS + 1, sizeof(int)); }
void c_close(Ring* env) { free(env->state); }
static void observe(Ring* env) {
    memset(env->crowd, 0, sizeof(env->crowd));
    for (int i = 0; i < WALKERS; i++) env->crowd[env->state[i]]++;
    for (int i = 0; i < WALKERS; i++)
        for (int k = 0; k < 3; k++)
            env->observations[3 * i + k] = env->crowd[(env->state[i] + k) % TILES];
}
void c_reset(Ring* env) {
    for (int i = 0; i < WALKERS; i++) { env->state[i] = draw(env, TILES); env->state[WALKERS + 1 + i] = 0; }
    env->state[WALKERS] = 0;
    observe(env);
}
void c_step(Ring* env) {
    env->state[WALKERS]++;
    int done = env->state[WALKERS] == 100 + draw(env, 1);
    for (int i = 0; i < WALKERS; i++) {
        int alone = env->crowd[env->state[i]] == 1 && env->crowd[(env->state[i] + 1) % TILES] == 0;
        env->state[i] = (env->state[i] + 3 + 2 * (int)env->actions[i]) % TILES;
        int pay = !alone;
        env->rewards[i] = pay;
        env->state[WALKERS + 1 + i] += pay;
        env->terminals[i] = done;
        if (!done) continue;
        env->log.perf += env->state[WALKERS + 1 + i] / 100.0f;
        env->log.score += env->state[WALKERS + 1 + i];
        env->log.episode_return += env->state[WALKERS + 1 + i];
        env->log.episode_length += 100;
        env->log.n += 1;
    }
    if (done) { c_reset(env); return; }
    observe(env);
}
void c_render(Ring* env) { (void)env; }
