// expect: PUF307
// Dig for a buried chest on a wide beach. Fault: the way to the chest may be negative, and is
// stored in bytes: three steps to the left look like 253 to the right.
#pragma once
#include <stdbool.h>
#define WIDTH 24
#define OBS_SIZE 3
#define ACT_SIZES {5}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Digger {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int x, y, chest_x, chest_y, tick;
} Digger;

static int pick(Digger* env, int n) {
    env->rng = env->rng * 1664525u + 1013904223u;
    return (int)((env->rng >> 16) % (unsigned)n);
}

static void look(Digger* env) {
    env->observations[0] = (unsigned char)(env->chest_x - env->x);
    env->observations[1] = (unsigned char)(env->chest_y - env->y);
    env->observations[2] = (unsigned char)(env->tick / 4);
}

void c_reset(Digger* env) {
    env->x = env->y = WIDTH / 2;
    env->chest_x = pick(env, WIDTH);
    env->chest_y = pick(env, WIDTH);
    env->tick = 0;
    look(env);
}

void c_step(Digger* env) {
    const int dx[] = {0, 1, -1, 0, 0}, dy[] = {0, 0, 0, 1, -1};
    int a = (int)env->actions[0], x = env->x + dx[a], y = env->y + dy[a];
    if (x >= 0 && x < WIDTH) env->x = x;
    if (y >= 0 && y < WIDTH) env->y = y;
    env->tick++;
    bool found = env->x == env->chest_x && env->y == env->chest_y, late = env->tick > 150;
    env->rewards[0] = found ? 1.0f : 0.0f;
    env->terminals[0] = found || late ? 1.0f : 0.0f;
    if (found || late) {
        env->log.perf += found ? 1.0f : 0.0f;
        env->log.score += env->rewards[0];
        env->log.episode_return += env->rewards[0];
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    look(env);
}

void c_render(Digger* env) { (void)env; }
void c_close(Digger* env) { (void)env; }
