// On the mark the pusher is drawn as the mark: it is not found, and the place -1 is used.
#pragma once
#include <stdlib.h>
#include <string.h>

#define SIDE 6
#define CELLS (SIDE * SIDE)
#define OBS_SIZE CELLS
#define ACT_SIZES {4}

enum { FLOOR, PUSHER, CRATE, MARK, PUSHER_ON_MARK };

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct LostUnit {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int max_ticks;
    int tick, crate, mark;
    unsigned char board[CELLS];
    int visits[CELLS];
} LostUnit;

static int below(unsigned int* rng, int n) { return (int)((unsigned int)rand_r(rng) % (unsigned int)n); }

static int find(LostUnit* env) {
    for (int i = 0; i < CELLS; i++) if (env->board[i] == PUSHER) return i;
    return -1;
}

void c_reset(LostUnit* env) {
    env->tick = 0;
    memset(env->board, FLOOR, sizeof(env->board));
    memset(env->visits, 0, sizeof(env->visits));
    env->mark = below(&env->rng, CELLS);
    do env->crate = below(&env->rng, CELLS); while (env->crate == env->mark);
    int at;
    do at = below(&env->rng, CELLS); while (at == env->mark || at == env->crate);
    env->board[env->mark] = MARK;
    env->board[env->crate] = CRATE;
    env->board[at] = PUSHER;
    memcpy(env->observations, env->board, CELLS);
}

void c_step(LostUnit* env) {
    static const int DX[4] = {-1, 1, 0, 0}, DY[4] = {0, 0, -1, 1};
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    env->tick++;
    int at = find(env);
    int a = (int)env->actions[0];
    int x = at % SIDE + DX[a], y = at / SIDE + DY[a];
    env->visits[at]++;
    if (x >= 0 && x < SIDE && y >= 0 && y < SIDE) {
        int to = y * SIDE + x;
        int bx = x + DX[a], by = y + DY[a];
        int ok = 1;
        if (to == env->crate) {
            ok = bx >= 0 && bx < SIDE && by >= 0 && by < SIDE;
            if (ok) env->crate = by * SIDE + bx;
        }
        if (ok) {
            env->board[at] = at == env->mark ? MARK : FLOOR;
            env->board[to] = to == env->mark ? PUSHER_ON_MARK : PUSHER;
            env->board[env->crate] = CRATE;
        }
    }
    int won = env->crate == env->mark;
    if (won || env->tick >= env->max_ticks) {
        env->rewards[0] = won ? 1.0f : 0.0f;
        env->terminals[0] = 1.0f;
        env->log.perf += env->rewards[0];
        env->log.score += env->rewards[0];
        env->log.episode_return += env->rewards[0];
        env->log.episode_length += env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    memcpy(env->observations, env->board, CELLS);
}

void c_render(LostUnit* env) { (void)env; }
void c_close(LostUnit* env) { (void)env; }
