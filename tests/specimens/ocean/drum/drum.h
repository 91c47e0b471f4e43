// Play back a rhythm of four drums. Idioms: uint8_t observations, a Log with an array.
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
    uint8_t* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int beat;
    int right;
    int rhythm[BEATS];
} Drum;

void init(Drum* env) {
    env->beat = 0;
}

void c_reset(Drum* env) {
    env->beat = env->right = 0;
    for (int b = 0; b < BEATS; b++) env->rhythm[b] = (int)(rand_r(&env->rng) / 7 % DRUMS);
    env->observations[0] = (uint8_t)env->rhythm[0];
    env->observations[1] = 0;
}

void c_step(Drum* env) {
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
    env->observations[0] = (uint8_t)env->rhythm[env->beat];
    env->observations[1] = (uint8_t)env->beat;
}

void c_render(Drum* env) { (void)env; }
void c_close(Drum* env) { (void)env; }
