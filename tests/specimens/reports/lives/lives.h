// Two swimmers of three lives each. Faults: each lost life leaves an entry with the sums of the whole
// episode, and c_reset makes a new lane without freeing the one of init.
#pragma once
#include <stdlib.h>

#define OBS_SIZE 3
#define ACT_SIZES {3}

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Lives {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int* lane;
    int tick, shark, at[2], lives[2];
    float ret[2];
} Lives;

static int draw(Lives* env, int n) {
    return (int)(((unsigned int)rand_r(&env->rng) >> 4) % (unsigned int)n);
}

static void observe(Lives* env) {
    for (int i = 0; i < 2; i++) {
        float* row = env->observations + OBS_SIZE * i;
        row[0] = (float)env->at[i] / 8.0f;
        row[1] = (float)env->shark / 8.0f;
        row[2] = (float)env->lives[i] / 3.0f;
    }
}

void init(Lives* env) {
    env->num_agents = 2;
    env->lane = (int*)calloc(9, sizeof(int));
}

void c_reset(Lives* env) {
    int* lane = (int*)calloc(9, sizeof(int));
    env->lane = lane;
    env->tick = 0;
    env->shark = draw(env, 9);
    for (int i = 0; i < 2; i++) {
        env->lives[i] = 3;
        env->ret[i] = 0.0f;
        env->at[i] = draw(env, 9);
    }
    observe(env);
}

void c_step(Lives* env) {
    int over = 0;
    env->tick++;
    for (int i = 0; i < 2; i++) {
        env->at[i] = (env->at[i] + (int)env->actions[i] + 8) % 9;
        env->lane[env->at[i]]++;
        int bitten = env->at[i] == env->shark;
        env->rewards[i] = bitten ? -0.5f : 0.05f;
        env->ret[i] += env->rewards[i];
        env->terminals[i] = 0.0f;
        if (!bitten) continue;
        env->log.perf += env->tick > 100 ? 1.0f : (float)env->tick / 100.0f;
        env->log.score += env->ret[i];
        env->log.episode_return += env->ret[i];
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        over |= --env->lives[i] == 0;
    }
    if (draw(env, 4) == 0) env->shark = draw(env, 9);
    if (over) {
        env->terminals[0] = env->terminals[1] = 1.0f;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Lives* env) { (void)env; }
void c_close(Lives* env) { free(env->lane); }
