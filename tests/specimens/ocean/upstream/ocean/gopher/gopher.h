// Guess where the gopher comes up next. Idiom: ocean/NAME beside config/NAME.ini, whose
// values are what a sweep left behind.
#include <stdlib.h>
#include "raylib.h"

typedef struct {
    float perf;
    float score;
    float n;
} Log;

typedef struct {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int holes;
    int stride;
    int at;
} Gopher;

void c_reset(Gopher* env) {
    env->stride = 1 + rand() % (env->holes - 1);
    env->at = rand() % env->holes;
    env->observations[0] = env->at;
    env->observations[1] = 0;
}

void c_step(Gopher* env) {
    env->observations[1] = env->at;
    env->at = (env->at + env->stride) % env->holes;
    env->observations[0] = env->at;
    env->rewards[0] = (int)env->actions[0] == env->at;
    env->log.perf += env->rewards[0];
    env->log.score += env->rewards[0];
    env->log.n++;
    if (rand() % 16 == 0) {
        env->terminals[0] = 1;
        c_reset(env);
    }
}

void c_render(Gopher* env) { (void)env; }
void c_close(Gopher* env) { (void)env; }
