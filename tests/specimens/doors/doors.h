// A lamp says which of two keys fits. The right key opens the door in `odds` of ten games. How long a won and a lost
// game take is for the settings to say; 0: it never ends, and a won one pays each tick. Every agent's first episode is
// like the others.
#pragma once
#include <stdlib.h>

#define OBS_SIZE 2
#define ACT_SIZES {2}

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Doors {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int win, loss, odds;    // ticks of a won game and of a lost one; games of ten that can be won
    int unset;              // whether perf and score are never written
    int global;             // whether rand() and a static variable take part
    int duel;               // whether two agents play, and one gains what the other loses
    int tick, key, opens;
} Doors;

static int doors_played;

static int doors_below(Doors* env, int n) {
    int drawn = env->global ? rand() : rand_r(&env->rng);
    return (int)(((unsigned int)drawn >> 4) % (unsigned int)n);
}

void init(Doors* env) {
    env->num_agents = env->duel ? 2 : 1;
}

static void observe(Doors* env) {
    for (int i = 0; i < env->num_agents; i++) {
        env->observations[2 * i] = env->tick ? 0.0f : env->key ? 1.0f : -1.0f;
        env->observations[2 * i + 1] = env->global ? (float)(doors_played % 7) / 7.0f : 0.0f;
    }
}

void c_reset(Doors* env) {
    env->tick = 0;
    env->key = doors_below(env, 2);
    env->opens = 0;
    doors_played++;
    observe(env);
}

void c_step(Doors* env) {
    if (env->tick == 0) env->opens = (int)env->actions[0] == env->key && doors_below(env, 10) < env->odds;
    env->tick++;
    int over = env->tick == (env->opens ? env->win : env->loss);
    float won = (float)env->opens;
    for (int i = 0; i < env->num_agents; i++) {
        float paid = env->win ? 0.0f : 0.1f * won;      // while an endless game is won
        env->rewards[i] = over ? (env->duel ? (i ? 0.5f - won : won - 0.5f) : won) : paid;
        env->terminals[i] = (float)over;
    }
    if (!over) {
        observe(env);
        return;
    }
    env->log.perf += env->unset ? 0.0f : won;
    env->log.score += env->unset ? 0.0f : won;
    env->log.episode_return += env->duel ? 0.0f : won;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);
}

void c_render(Doors* env) { (void)env; }
void c_close(Doors* env) { (void)env; }
