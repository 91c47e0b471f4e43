// A lawn mower whose board lives in the observations: only cells that change are written, and
// cells that become empty are cleared. Nothing to find here.
#pragma once
#include <string.h>
#define SIDE 8
#define OBS_SIZE (SIDE * SIDE)
#define ACT_SIZES {4}
enum { CUT, GRASS, MOWER, STONE };
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Mower {
    Log log;
    unsigned char* observations;    // (SIDE, SIDE) the board itself
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int at, tick, cut;
} Mower;

static int draw(Mower* env, int n) {
    env->rng = env->rng * 1664525u + 1013904223u;
    return (int)((env->rng >> 16) % (unsigned)n);
}

void c_reset(Mower* env) {
    unsigned char* board = env->observations;
    memset(board, GRASS, OBS_SIZE);
    for (int i = 0; i < 5; i++) board[draw(env, OBS_SIZE)] = STONE;
    do env->at = draw(env, OBS_SIZE); while (board[env->at] != GRASS);
    board[env->at] = MOWER;
    env->tick = env->cut = 0;
}

void c_step(Mower* env) {
    unsigned char* board = env->observations;
    int a = (int)env->actions[0], x = env->at % SIDE, y = env->at / SIDE;
    x += (a == 0) - (a == 1);
    y += (a == 2) - (a == 3);
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    env->tick++;
    int to = y * SIDE + x;
    if (x >= 0 && x < SIDE && y >= 0 && y < SIDE && board[to] != STONE) {
        if (board[to] == GRASS) {
            env->rewards[0] = 0.1f;
            env->cut++;
        }
        board[env->at] = CUT;
        board[to] = MOWER;
        env->at = to;
    }
    if (env->tick >= 120) {
        env->terminals[0] = 1.0f;
        env->log.perf += (float)env->cut / OBS_SIZE;
        env->log.score += (float)env->cut;
        env->log.episode_return += 0.1f * (float)env->cut;
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        c_reset(env);
    }
}

void c_render(Mower* env) { (void)env; }
void c_close(Mower* env) { (void)env; }
