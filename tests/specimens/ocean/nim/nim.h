// Take one to three sticks from one of two heaps; who takes the last one wins.
// Idiom: a mask over both heads says which moves are there.
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

typedef struct {
    float perf;
    float score;
    float episode_length;
    float n;
} Log;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* action_mask;     // 2 heaps, then 3 amounts
    int num_agents;
    unsigned int rng;
    int heap[2];
    int tick;
    int most;
} Nim;

static void look(Nim* env) {
    int larger = env->heap[0] > env->heap[1] ? env->heap[0] : env->heap[1];
    int smaller = env->heap[0] + env->heap[1] - larger;
    for (int h = 0; h < 2; h++) {
        env->observations[h] = (float)env->heap[h] / env->most;
        env->action_mask[h] = env->heap[h] > 0;
    }
    if (smaller == 0) smaller = larger;
    for (int k = 0; k < 3; k++) env->action_mask[2 + k] = smaller > k;
}

void c_reset(Nim* env) {
    env->tick = 0;
    for (int h = 0; h < 2; h++) env->heap[h] = 1 + rand() % env->most;
    look(env);
}

static int take(Nim* env, int heap, int amount) {
    if (amount > env->heap[heap]) amount = env->heap[heap];
    env->heap[heap] -= amount;
    return env->heap[0] + env->heap[1] == 0;
}

void c_step(Nim* env) {
    float reward = 0;
    env->tick++;
    if (env->heap[(int)env->actions[0]] == 0) reward = -1;          // an illegal move loses
    else if (take(env, (int)env->actions[0], 1 + (int)env->actions[1])) reward = 1;
    else if (take(env, env->heap[0] > 0 ? 0 : 1, 1 + rand() % 3)) reward = -1;
    if (reward != 0) {
        env->rewards[0] = reward;
        env->terminals[0] = 1;
        env->log.perf += reward > 0;
        env->log.score += reward;
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
    }
    look(env);
}

void c_render(Nim* env) { (void)env; }
void c_close(Nim* env) { (void)env; }
