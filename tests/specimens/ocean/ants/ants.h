// Ants on a ring share one trail of scent. Idiom: the binding steps all envs at once.
#include <stdlib.h>
#include "raylib.h"

#define RING 12

typedef struct {
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int place;
    int food;
    int tick;
    float decay;
} Ants;

void c_reset(Ants* env) {
    env->tick = 0;
    env->place = rand() % RING;
    env->food = rand() % RING;
    env->observations[0] = env->place;
    env->observations[1] = env->food;
    env->observations[2] = 0;
}

void c_step(Ants* env) {
    env->tick++;
    env->place = (env->place + (int)env->actions[0] - 1 + RING) % RING;
    if (env->place == env->food || env->tick > 30) {
        float reward = env->place == env->food;
        env->rewards[0] = reward;
        env->terminals[0] = 1;
        env->log.score += reward;
        env->log.episode_return += reward;
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
    }
    env->observations[0] = env->place;
    env->observations[1] = env->food;
}

void c_render(Ants* env) { (void)env; }
void c_close(Ants* env) { (void)env; }
