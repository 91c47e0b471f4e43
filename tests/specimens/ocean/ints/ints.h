// Play back a rhythm. Observations of int.
#include <stdint.h>
#include <stdlib.h>
#include "raylib.h"

#define DRUMS 4
#define BEATS 8

typedef struct {
    float hits[DRUMS];
    float perf;
    float episode_length;
    float n;
} Log;

typedef struct {
    Log log;
    int* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int beat;
    int right;
    int rhythm[BEATS];
} Ints;

void init(Ints* env) {
    env->beat = 0;
}

void c_reset(Ints* env) {
    env->beat = env->right = 0;
    for (int b = 0; b < BEATS; b++) env->rhythm[b] = (int)(rand_r(&env->rng) / 7 % DRUMS);
    env->observations[0] = env->rhythm[0];
    env->observations[1] = 0;
}

void c_step(Ints* env) {
    int played = (int)env->actions[0];
    if (played == env->rhythm[env->beat]) {
        env->rewards[0] = 1;
        env->right++;
        env->log.hits[played] += 1;
    }
    if (++env->beat == BEATS) {
        env->terminals[0] = 1;
        env->log.perf += (float)env->right / BEATS;
        env->log.episode_length += BEATS;
        env->log.n++;
        c_reset(env);
    }
    env->observations[0] = env->rhythm[env->beat];
    env->observations[1] = env->beat;
}

void c_render(Ints* env) { (void)env; }
void c_close(Ints* env) { (void)env; }
