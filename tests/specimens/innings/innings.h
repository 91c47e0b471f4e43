/* innings.h -- episodes that a time limit ends are logged, and set no terminal.
 *
 * Every tick pays 1. An episode lasts `length` ticks; each `outs`-th one ends with a terminal. With
 * `agents`, all share one episode and one log entry.
 */
#pragma once
#include <stdlib.h>
#include "raylib.h"

#define OBS_SIZE 1
#define ACT_SIZES {2}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float wickets;
    float n;
} Log;

typedef struct Innings {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    int agents, length, outs;
    int tick, episode;
} Innings;

void init(Innings* env) {
    env->num_agents = env->agents > 0 ? env->agents : 1;
    env->episode = 0;
}

static void observe(Innings* env) {
    for (int a = 0; a < env->num_agents; a++)
        env->observations[a] = (float)env->tick / (float)env->length;
}

void c_reset(Innings* env) {
    env->tick = 0;
    observe(env);
}

void c_step(Innings* env) {
    env->tick++;
    int over = env->tick >= env->length;
    if (over) env->episode++;
    int out = over && env->outs > 0 && env->episode % env->outs == 0;
    for (int a = 0; a < env->num_agents; a++) {
        env->rewards[a] = 1.0f;
        env->terminals[a] = out ? 1.0f : 0.0f;
    }
    if (over) {
        env->log.perf += env->episode == 1 ? 0.0f : 1.0f;     // the first is unlike the others
        env->log.score += (float)env->tick;
        env->log.episode_return += (float)env->tick;
        env->log.episode_length += (float)env->tick;
        env->log.wickets += out ? 1.0f : 0.0f;
        env->log.n += 1;
        env->tick = 0;
    }
    observe(env);
}

void c_render(Innings* env) { (void)env; }

void c_close(Innings* env) { (void)env; }
