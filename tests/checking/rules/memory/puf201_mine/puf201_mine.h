// expect: PUF201
// Dig tunnels for ore. The grid is on the heap. Fault: the scan looks one row beyond its end.
#pragma once
#include <stdlib.h>
#include <string.h>

#define VIEW 25
#define OBS_SIZE VIEW
#define ACT_SIZES {4}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Mine {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int width, height;      // [env]
    int x, y, tick, found;
    unsigned char* rock;    // (height, width)  0 tunnel, 1 rock, 2 ore
} Mine;

void init(Mine* env) { env->rock = malloc((size_t)(env->width * env->height)); }

static int draw(Mine* env, int n) {
    env->rng = env->rng * 1103515245u + 12345u;
    return (int)((env->rng >> 16) % (unsigned)n);
}

static void look(Mine* env) {
    for (int dy = -2; dy <= 2; dy++) {
        for (int dx = -2; dx <= 2; dx++) {
            int x = env->x + dx, y = env->y + dy;
            int inside = x >= 0 && y >= 0 && x < env->width && y <= env->height;
            env->observations[(dy + 2) * 5 + dx + 2] = inside ? env->rock[y * env->width + x] : 3;
        }
    }
}

void c_reset(Mine* env) {
    memset(env->rock, 1, (size_t)(env->width * env->height));
    for (int i = 0; i < 6; i++) env->rock[draw(env, env->width * env->height)] = 2;
    env->x = env->width / 2;
    env->y = 0;
    env->tick = env->found = 0;
    look(env);
}

void c_step(Mine* env) {
    static const int dx[] = {0, 0, -1, 1}, dy[] = {-1, 1, 0, 0};
    int a = (int)env->actions[0];
    int x = env->x + dx[a], y = env->y + dy[a];
    env->rewards[0] = 0;
    env->terminals[0] = 0;
    if (x >= 0 && y >= 0 && x < env->width && y < env->height) {
        env->x = x;
        env->y = y;
        if (env->rock[y * env->width + x] == 2) {
            env->rewards[0] = 1;
            env->found++;
        }
        env->rock[y * env->width + x] = 0;
    }
    if (++env->tick >= 150 || env->found == 6) {
        env->terminals[0] = 1;
        env->log.perf += env->found / 6.0f;
        env->log.score += env->found;
        env->log.episode_return += env->found;
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
        return;
    }
    look(env);
}

void c_render(Mine* env) { (void)env; }
void c_close(Mine* env) { free(env->rock); }
