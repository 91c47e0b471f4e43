// expect: PUF401
// Find a lighthouse in the fog on a byte grid. Fault: reaching it starts a new episode, running
// out of time is only announced.
#pragma once
#include <stdbool.h>
#include <string.h>
#define SIZE 7
#define OBS_SIZE (SIZE * SIZE)
#define ACT_SIZES {5}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Fog {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int at, house, tick;
    int* seen;                  // visits to each cell
} Fog;

#include <stdlib.h>

void init(Fog* env) { env->seen = calloc(SIZE * SIZE, sizeof(int)); }

static void paint(Fog* env) {
    memset(env->observations, 0, OBS_SIZE);
    env->observations[env->house] = 2;
    env->observations[env->at] = 1;
}

void c_reset(Fog* env) {
    memset(env->seen, 0, SIZE * SIZE * sizeof(int));
    env->at = SIZE * SIZE / 2;
    do {
        env->rng = env->rng * 1664525u + 1013904223u;
        env->house = (int)((env->rng >> 16) % (SIZE * SIZE));
    } while (env->house == env->at);
    env->tick = 0;
    paint(env);
}

static void finish(Fog* env, float reward) {
    env->rewards[0] = reward;
    env->terminals[0] = 1.0f;
    env->log.perf += reward > 0.0f;
    env->log.score += reward;
    env->log.episode_return += reward;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
}

void c_step(Fog* env) {
    int a = (int)env->actions[0], x = env->at % SIZE, y = env->at / SIZE;
    x += (a == 1) - (a == 2);
    y += (a == 3) - (a == 4);
    bool inside = x >= 0 && x < SIZE && y >= 0 && y < SIZE;
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    env->tick++;
    if (inside) env->at = y * SIZE + x;
    env->seen[env->at]++;
    if (env->at == env->house) {
        finish(env, 1.0f);
        c_reset(env);
        return;
    }
    if (env->tick >= 40) {
        finish(env, -1.0f);
    }
    paint(env);
}

void c_render(Fog* env) { (void)env; }
void c_close(Fog* env) { free(env->seen); }
