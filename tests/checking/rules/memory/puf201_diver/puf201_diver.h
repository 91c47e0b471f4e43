// expect: PUF201
// Dive by kicking left and right in turn; reaching scares the fish, and one begins at the surface
// again. Fault: at the floor, reaching looks one stone below it, which only rare play does.
#pragma once
#include <stdlib.h>

#define FLOOR 24
#define LENGTH 256
enum { WAIT, LEFT, RIGHT, REACH, TURN };
#define OBS_SIZE 4
#define ACT_SIZES {5}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Diver {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int* stones;            // one a depth
    int depth, last, facing, tick;
    float earned;
} Diver;

void init(Diver* env) { env->stones = calloc(FLOOR, sizeof(int)); }

static void observe(Diver* env) {
    env->observations[0] = (float)env->depth / FLOOR;
    env->observations[1] = env->last == LEFT;
    env->observations[2] = (float)env->facing;
    env->observations[3] = (float)env->tick / LENGTH;
}

void c_reset(Diver* env) {
    for (int i = 0; i < FLOOR; i++) {
        env->rng = env->rng * 1103515245u + 12345u;
        env->stones[i] = env->rng >> 16 & 1;
    }
    env->depth = env->last = env->facing = env->tick = 0;
    env->earned = 0.0f;
    observe(env);
}

void c_step(Diver* env) {
    int action = (int)env->actions[0];
    float reward = 0.0f;
    if (action == TURN) env->facing = !env->facing;
    if ((action == LEFT || action == RIGHT) && action != env->last) {
        if (env->depth < FLOOR - 1) env->depth++;
        env->last = action;
    }
    if (action == REACH) {
        if (env->depth > 0) reward = (float)env->stones[env->depth + 1] / FLOOR;
        env->depth = 0;
    }
    env->earned += reward;
    env->rewards[0] = reward;
    env->terminals[0] = 0.0f;
    if (++env->tick >= LENGTH - env->facing) {
        env->terminals[0] = 1.0f;
        env->log.perf += env->earned / LENGTH;
        env->log.score += env->earned;
        env->log.episode_return += env->earned;
        env->log.episode_length += (float)env->tick;
        env->log.n++;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Diver* env) { (void)env; }
void c_close(Diver* env) { free(env->stones); }
