// c_reset keeps the level; a count of games differs as well, and reaches nothing.
#pragma once
#include <stdlib.h>
enum { OBS_AT, OBS_GOAL };
#define OBS_SIZE 2
#define ACT_SIZES {3}
typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;
typedef struct Keeper {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int games, tick, level;
    float at, goal, ret;
} Keeper;
static void observe(Keeper* env) {
    env->observations[OBS_AT] = env->at / 10;
    env->observations[OBS_GOAL] = env->goal / 10;
}
void c_reset(Keeper* env) {
    env->games++;
    env->tick = 0;
    env->ret = 0;
    env->at = 5;
    env->goal = 1 + (int)(rand_r(&env->rng) % 4) + env->level;
    observe(env);
}
void c_step(Keeper* env) {
    env->tick++;
    env->at += env->actions[0] - 1;
    int won = env->at == env->goal;
    env->rewards[0] = won;
    env->ret += won;
    env->terminals[0] = won || env->tick == 20;
    if (env->terminals[0]) {
        env->level = (env->level + won) % 5;
        env->log.perf += won; env->log.score += won; env->log.episode_return += env->ret;
        env->log.episode_length += env->tick; env->log.n += 1;
        c_reset(env);
        return;
    }
    observe(env);
}
void c_render(Keeper* env) { (void)env; }
void c_close(Keeper* env) { (void)env; }
