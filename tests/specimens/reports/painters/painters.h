// Two painters on one wall; who comes to the pot first wins. Faults: of the picture only the upper
// rows are cleared, c_reset clears the actions, the winner's perf is 1.5, and of Log nobody writes
// spills nor the last of strokes.
#pragma once
#include <stdlib.h>
#include <string.h>

#define OBS_SIZE 64     // grid 8 x 8
#define ACT_SIZES {4}

typedef struct Log {
    float perf, score, episode_return, episode_length, spills, strokes[3], n;
} Log;

typedef struct Can { int spills; } Can;

typedef struct Painters {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Can can;
    int tick, pot, at[2];
    float ret[2];
} Painters;

static int draw(Painters* env, int n) {
    return (int)(((unsigned int)rand_r(&env->rng) >> 4) % (unsigned int)n);
}

static void observe(Painters* env) {
    for (int i = 0; i < 2; i++) {
        unsigned char* wall = env->observations + OBS_SIZE * i;
        memset(wall, 0, 24);
        wall[env->pot] = 50;
        wall[env->at[1 - i]] = 100;
        wall[env->at[i]] = 200;
    }
}

void init(Painters* env) { env->num_agents = 2; }

void c_reset(Painters* env) {
    memset(env->actions, 0, 2 * sizeof(float));
    memset(env->observations, 0, 2 * OBS_SIZE);
    env->tick = env->can.spills = 0;
    env->pot = draw(env, 64);
    for (int i = 0; i < 2; i++) {
        env->at[i] = draw(env, 64);
        env->ret[i] = 0.0f;
    }
    observe(env);
}

static void add_log(Painters* env, int i, float perf) {
    env->log.perf += perf;
    env->log.score += env->ret[i];
    env->log.episode_return += env->ret[i];
    env->log.episode_length += (float)env->tick;
    env->log.strokes[0] += perf;
    env->log.strokes[1] += (float)(env->tick % 2);
    env->log.n += 1.0f;
}

void c_step(Painters* env) {
    static const int moves[4] = {1, 63, 8, 56};
    int winner = -1, first = draw(env, 2);
    env->tick++;
    for (int k = 0; k < 2; k++) {
        int i = (first + k) % 2;
        env->at[i] = (env->at[i] + moves[(int)env->actions[i]]) % 64;
        winner = winner < 0 && env->at[i] == env->pot ? i : winner;
        env->can.spills += env->at[i] == 9;
    }
    int over = winner >= 0 || env->tick == 60 + draw(env, 9);
    for (int i = 0; i < 2; i++) {
        env->rewards[i] = winner < 0 ? 0.0f : winner == i ? 1.0f : -1.0f;
        env->terminals[i] = (float)over;
        env->ret[i] += env->rewards[i];
        if (over) add_log(env, i, winner == i ? 1.5f : 0.0f);
    }
    if (over) c_reset(env);
    else observe(env);
}

void c_render(Painters* env) { (void)env; }
void c_close(Painters* env) { (void)env; }
