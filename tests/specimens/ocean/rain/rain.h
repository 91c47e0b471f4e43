// Catch drops in a bucket. Idiom: the binding steps a range of envs, and rolls dice in it.
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define WIDTH 5
#define HEIGHT 4

typedef struct {
    float score;
    float episode_length;
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
    int bucket;
    int tick;
} Rain;

void c_reset(Rain* env) {
    memset(env->observations, 0, WIDTH * HEIGHT);
    env->bucket = GetRandomValue(0, WIDTH - 1);
    env->tick = 0;
}

void c_step(Rain* env) {
    unsigned char* sky = env->observations;
    int dx = (int)env->actions[0] - 1;
    env->bucket = (env->bucket + dx + WIDTH) % WIDTH;
    env->rewards[0] = sky[(HEIGHT - 1) * WIDTH + env->bucket];
    env->log.score += env->rewards[0];
    memmove(sky + WIDTH, sky, WIDTH * (HEIGHT - 1));
    memset(sky, 0, WIDTH);
    if (++env->tick == 100) {
        env->terminals[0] = 1;
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
    }
}

void c_render(Rain* env) { (void)env; if (WindowShouldClose()) exit(0); }
void c_close(Rain* env) { (void)env; if (IsWindowReady()) CloseWindow(); }
