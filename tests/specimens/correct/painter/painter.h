// A painter walks over a wall and colours it. Painted cells stay painted until the wall is full
// or the day is over: values of the board only grow, and that is the game. An illegal move is
// refused before anything is written: the observation is still right.
#pragma once
#include <string.h>
#define SIDE 6
#define OBS_SIZE (SIDE * SIDE)
#define ACT_SIZES {4}
typedef struct Log {
    float perf;
    float score;
    float episode_length;
    float n;
} Log;

typedef struct Painter {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int at, day, done, tick;
} Painter;

static void clear_wall(Painter* env) { memset(env->observations, 0, OBS_SIZE); }

void c_reset(Painter* env) {
    clear_wall(env);
    env->rng = env->rng * 1664525u + 1013904223u;
    env->at = (int)((env->rng >> 16) % OBS_SIZE);
    env->observations[env->at] = 2;
    env->done = 1;
    env->tick = 0;
}

void c_step(Painter* env) {
    int a = (int)env->actions[0], x = env->at % SIDE, y = env->at / SIDE;
    x += (a == 0) - (a == 1);
    y += (a == 2) - (a == 3);
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    if (x >= 0 && x < SIDE && y >= 0 && y < SIDE) {
        env->observations[env->at] = 1;
        env->at = y * SIDE + x;
        if (env->observations[env->at] == 0) {
            env->rewards[0] = 0.1f;
            env->done++;
        }
        env->observations[env->at] = 2;
    }
    if (++env->tick >= 100 || env->done == OBS_SIZE) {
        env->terminals[0] = 1.0f;
        env->day++;
        env->log.perf += (float)env->done / OBS_SIZE;
        env->log.score += (float)env->done;
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        c_reset(env);
    }
}

void c_render(Painter* env) { (void)env; }
void c_close(Painter* env) { (void)env; }
