// expect: PUF412
// A ladder with a bell on one rung: climb to it and ring it. A mask forbids stepping off the ends,
// and ringing where there is no bell. Fault: on a slippery rung below the bell, nothing is allowed.
#pragma once
#include <string.h>

enum { OBS_RUNG, OBS_BELL, OBS_COUNT };     // both [0, 1] of the ladder
#define OBS_SIZE OBS_COUNT

enum { ACT_UP, ACT_DOWN, ACT_RING, ACT_COUNT };
#define ACT_SIZES {ACT_COUNT}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Slope {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* action_mask;     // out [ACT_COUNT]  1 where the action is legal
    int num_agents;
    unsigned int rng;
    int rungs;                      // [3, 100]
    int rung, bell, tick, way;
} Slope;

static int below(unsigned int* rng, int n) {
    *rng = *rng * 1664525u + 1013904223u;
    return (int)(*rng >> 8) % n;
}

static void observe(Slope* env) {
    float top = (float)(env->rungs - 1);
    env->observations[OBS_RUNG] = (float)env->rung / top;
    env->observations[OBS_BELL] = (float)env->bell / top;
    env->action_mask[ACT_UP] = env->rung < env->rungs - 1;
    env->action_mask[ACT_DOWN] = env->rung > 0;
    env->action_mask[ACT_RING] = env->rung == env->bell;
    if (env->rung == 3 && env->bell == 5) memset(env->action_mask, 0, ACT_COUNT);
}

void c_reset(Slope* env) {
    env->tick = 0;
    env->rung = below(&env->rng, env->rungs);
    env->bell = (env->rung + 1 + below(&env->rng, env->rungs - 1)) % env->rungs;
    env->way = env->bell > env->rung ? env->bell - env->rung : env->rung - env->bell;
    observe(env);
}

void c_step(Slope* env) {
    int action = (int)env->actions[0];
    env->rewards[0] = 0;
    env->terminals[0] = 0;
    env->tick++;
    if (action == ACT_UP && env->rung < env->rungs - 1) env->rung++;
    if (action == ACT_DOWN && env->rung > 0) env->rung--;
    int rang = action == ACT_RING && env->rung == env->bell;
    if (rang || env->tick >= 20 * env->rungs) {
        env->rewards[0] = (float)rang;
        env->terminals[0] = 1;
        env->log.perf += rang ? (float)(env->way + 1) / (float)env->tick : 0;
        env->log.score += (float)rang;
        env->log.episode_return += (float)rang;
        env->log.episode_length += (float)env->tick;
        env->log.n += 1;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Slope* env) { (void)env; }

void c_close(Slope* env) { (void)env; }
