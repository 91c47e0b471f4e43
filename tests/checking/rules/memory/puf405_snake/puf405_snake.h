// expect: PUF405
// A snake on a small board. Fault: when the snake fills every cell, the search for a free cell
// for the next apple never ends.
#pragma once
#include <stdbool.h>
#include <string.h>

#define SIDE 3
#define CELLS (SIDE * SIDE)
#define OBS_SIZE CELLS
#define ACT_SIZES {4}
typedef struct Log {
    float score;
    float episode_length;
    float n;
} Log;

typedef struct Snake {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    unsigned char board[CELLS];
    int head, length, tick, apple;
} Snake;

static int next_cell(Snake* env) {
    env->rng = env->rng * 1664525u + 1013904223u;
    return (int)((env->rng >> 16) % CELLS);
}

static void drop_apple(Snake* env) {
    do {
        env->apple = next_cell(env);
    } while (env->board[env->apple] != 0);
    env->board[env->apple] = 255;
}

void c_reset(Snake* env) {
    memset(env->board, 0, CELLS);
    env->head = CELLS / 2;
    env->board[env->head] = 1;
    env->length = 1;
    env->tick = 0;
    drop_apple(env);
    memcpy(env->observations, env->board, CELLS);
}

void c_step(Snake* env) {
    const int step[4] = {-SIDE, SIDE, -1, 1};
    int a = (int)env->actions[0];
    int column = env->head % SIDE, to = env->head + step[a];
    bool wall = to < 0 || to >= CELLS || (a == 2 && column == 0) || (a == 3 && column == SIDE - 1);
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    env->tick++;
    if (!wall) {                            // the trail stays: each cell can be eaten once
        bool apple = env->board[to] == 255;
        env->board[to] = 1;
        env->head = to;
        if (apple) {
            env->rewards[0] = 1.0f;
            env->length++;
            drop_apple(env);
        }
    }
    if (env->tick >= 200) {
        env->terminals[0] = 1.0f;
        env->log.score += env->length;
        env->log.episode_length += env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    memcpy(env->observations, env->board, CELLS);
}

void c_render(Snake* env) { (void)env; }
void c_close(Snake* env) { (void)env; }
