// expect: PUF302
// A beaver swims between two banks after a log that drifts; the pond is a board of bytes that is
// kept. Fault: where the beaver leaves the bank, its old cell is not cleared.
#pragma once
#include <string.h>

#define WIDTH 8
#define HEIGHT 8
#define LENGTH 120
#define OBS_SIZE (WIDTH * HEIGHT)       // grid 8 x 8 of 3 ids
#define ACT_SIZES {5}
enum { WATER, BEAVER, TREE };

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Beavers {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int x, y, tree, tick, eaten;
    unsigned char pond[HEIGHT][WIDTH];
} Beavers;

static int draw(Beavers* env, int n) {
    env->rng = env->rng * 1103515245u + 12345u;
    return (int)((env->rng >> 16) % (unsigned)n);
}

static void plant(Beavers* env) {
    do {
        env->tree = draw(env, WIDTH * HEIGHT);
    } while (env->pond[env->tree / WIDTH][env->tree % WIDTH] != WATER);
    env->pond[env->tree / WIDTH][env->tree % WIDTH] = TREE;
}

static void observe(Beavers* env) { memcpy(env->observations, env->pond, sizeof env->pond); }

void c_reset(Beavers* env) {
    memset(env->pond, WATER, sizeof env->pond);
    env->x = draw(env, WIDTH);
    env->y = draw(env, HEIGHT);
    env->tick = env->eaten = 0;
    env->pond[env->y][env->x] = BEAVER;
    plant(env);
    observe(env);
}

void c_step(Beavers* env) {
    static const int dx[] = {0, 0, 0, -1, 1}, dy[] = {0, -1, 1, 0, 0};
    int a = (int)env->actions[0], x = env->x + dx[a], y = env->y + dy[a];
    env->rewards[0] = env->terminals[0] = 0.0f;
    if (x >= 0 && y >= 0 && x < WIDTH && y < HEIGHT) {
        if (env->y < HEIGHT - 1) env->pond[env->y][env->x] = WATER;
        env->x = x;
        env->y = y;
        int found = env->pond[y][x] == TREE;
        env->pond[y][x] = BEAVER;
        if (found) {
            env->rewards[0] = 1.0f;
            env->eaten++;
            plant(env);
        }
    }
    if (++env->tick >= LENGTH + (env->eaten & 1) || env->eaten == 8) {
        env->terminals[0] = 1.0f;
        env->log.perf += (float)env->eaten / 8.0f;
        env->log.score += (float)env->eaten;
        env->log.episode_return += (float)env->eaten;
        env->log.episode_length += (float)env->tick;
        env->log.n++;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Beavers* env) { (void)env; }
void c_close(Beavers* env) { (void)env; }
