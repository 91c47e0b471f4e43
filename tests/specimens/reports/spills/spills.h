// Four memory errors: two rows that are left, a block of the heap and one that was freed.
#pragma once
#include <stdlib.h>
#define OBS_SIZE 2
#define ACT_SIZES {2}
typedef struct Log { float n; } Log;
typedef struct Spills {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int tick, *tiles, *old;
} Spills;
void init(Spills* env) {
    env->tiles = calloc(8, sizeof(int));
    env->old = calloc(8, sizeof(int));
    free(env->old);
}
void c_close(Spills* env) { free(env->tiles); }
void c_reset(Spills* env) { env->tick = 0; env->observations[0] = env->observations[1] = 0; }
void c_step(Spills* env) {
    env->tick++;
    int a = (int)env->actions[0];
    env->observations[0] = (float)a;
    env->observations[1] = (float)(env->tick % 3) / 3;
    env->rewards[0] = (float)a;
    env->terminals[0] = 0;
    if (env->tick == 3) env->observations[2] = 1.0f;
    if (env->tick == 4) env->tiles[8] = a;
    if (env->tick == 5) env->tick += env->old[2];
    if (env->tick == 7) env->rewards[1] = 1.0f;
    if (env->tick == 16) {
        env->terminals[0] = 1;
        env->log.n += 1;
        c_reset(env);
    }
}
void c_render(Spills* env) { (void)env; }
