// Pegs: peg solitaire on a board of SIZE x SIZE. A peg jumps over a neighbour into the empty hole
// behind it, and the one that was jumped over leaves the board; the aim is to be left with one.
// A few players sit at a table, each with a board of their own and their own episodes.
//
// A player moves a cursor, and lets the peg under it jump; the cursor goes with the peg. What is
// not possible (a step over the edge, a jump of no peg, or onto a peg) changes nothing but the
// clock. A board is over when it is won, when no peg can jump any more, or when its time is
// up, about `patience` ticks.
// New boards are made by playing backwards from a single peg, so that each can be won.
//
// One row of bytes per player, OBS_* below, and a mask of the actions that are possible.
#pragma once

#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define SIZE 6
#define CELLS (SIZE * SIZE)
#define MAX_PLAYERS 8
#define MAX_PEGS 12
#define ACTIONS 8
#define TRIES 100              // of a backward jump, until the board is taken as it is

enum {
    OBS_BOARD,                 // 4 ids     bit 0: a peg, bit 1: the cursor
    OBS_CURSOR_X = OBS_BOARD + CELLS,   // [0, 5]
    OBS_CURSOR_Y,              // [0, 5]
    OBS_PEGS,                  // [0, 12]   that are left
    OBS_CLOCK,                 // [0, 50]   share of the time that is left
    OBS_JUMPS,                 // [0, 48]   how many jumps the board has
    OBS_COUNT
};

// Actions: 0 to 3 move the cursor north, south, west, east; 4 to 7 jump that way
static const int DX[4] = {0, 0, -1, 1};
static const int DY[4] = {-1, 1, 0, 0};

// Required struct. Only use floats!
typedef struct {
    float perf;                // share of the boards that were won
    float score;               // share of the surplus pegs that were taken
    float episode_return;
    float episode_length;
    float stuck;               // ended without a jump left
    float late;                // ended by the clock
    float n;                   // Required as the last field
} Log;

typedef struct {
    unsigned char cells[CELLS];
    int x, y;                  // the cursor
    int start;                 // pegs at the beginning
    int pegs;
    int tick;
    int limit;                 // `patience`, a quarter more or less
    float ret;
} Player;

typedef struct {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* action_mask;
    int num_agents;
    unsigned int rng;

    // settings
    int pegs;
    int patience;
    float jump_reward;
    float win_reward;
    float stuck_cost;

    Player players[MAX_PLAYERS];
} Pegs;

static int draw(Pegs* env, int n) {
    return rand_r(&env->rng) % n;
}

static int inside(int x, int y) {
    return x >= 0 && x < SIZE && y >= 0 && y < SIZE;
}

static int can_jump(const Player* me, int x, int y, int d) {
    if (!inside(x + 2 * DX[d], y + 2 * DY[d])) return 0;
    int from = y * SIZE + x;
    int step = DY[d] * SIZE + DX[d];
    return me->cells[from] && me->cells[from + step] && !me->cells[from + 2 * step];
}

static int count_jumps(const Player* me) {
    int count = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        for (int d = 0; d < 4; d++) {
            count += can_jump(me, cell % SIZE, cell / SIZE, d);
        }
    }
    return count;
}

static void write_mask(Pegs* env, int a) {
    const Player* me = &env->players[a];
    unsigned char* mask = env->action_mask + a * ACTIONS;
    for (int d = 0; d < 4; d++) {
        mask[d] = (unsigned char)inside(me->x + DX[d], me->y + DY[d]);
        mask[4 + d] = (unsigned char)can_jump(me, me->x, me->y, d);
    }
}

static void observe(Pegs* env, int a) {
    const Player* me = &env->players[a];
    unsigned char* obs = env->observations + a * OBS_COUNT;
    for (int cell = 0; cell < CELLS; cell++) {
        obs[OBS_BOARD + cell] = me->cells[cell];
    }
    obs[OBS_BOARD + me->y * SIZE + me->x] |= 2;
    obs[OBS_CURSOR_X] = (unsigned char)me->x;
    obs[OBS_CURSOR_Y] = (unsigned char)me->y;
    obs[OBS_PEGS] = (unsigned char)me->pegs;
    obs[OBS_CLOCK] = (unsigned char)(50 * (me->limit - me->tick) / me->limit);
    obs[OBS_JUMPS] = (unsigned char)count_jumps(me);
    write_mask(env, a);
}

// A new board: one peg anywhere, and then jumps undone until there are enough
static void deal(Pegs* env, int a) {
    Player* me = &env->players[a];
    memset(me->cells, 0, sizeof(me->cells));
    me->cells[draw(env, CELLS)] = 1;
    me->pegs = 1;
    for (int i = 0; i < TRIES && me->pegs < env->pegs; i++) {
        int cell;
        do {
            cell = draw(env, CELLS);
        } while (!me->cells[cell]);
        int d = draw(env, 4);
        int step = DY[d] * SIZE + DX[d];
        if (!inside(cell % SIZE + 2 * DX[d], cell / SIZE + 2 * DY[d])) continue;
        if (me->cells[cell + step] || me->cells[cell + 2 * step]) continue;
        me->cells[cell] = 0;
        me->cells[cell + step] = 1;
        me->cells[cell + 2 * step] = 1;
        me->pegs++;
    }
    me->start = me->pegs;
    me->limit = 3 * env->patience / 4 + draw(env, env->patience / 2 + 1);
    me->x = draw(env, SIZE);
    me->y = draw(env, SIZE);
    me->tick = 0;
    me->ret = 0.0f;
}

void c_reset(Pegs* env) {
    for (int a = 0; a < env->num_agents; a++) {
        deal(env, a);
        observe(env, a);
    }
}

static void jump(Pegs* env, int a, int d) {
    Player* me = &env->players[a];
    int from = me->y * SIZE + me->x;
    int step = DY[d] * SIZE + DX[d];
    me->cells[from] = 0;
    me->cells[from + step] = 0;
    me->cells[from + 2 * step] = 1;
    me->x += 2 * DX[d];
    me->y += 2 * DY[d];
    me->pegs--;
    env->rewards[a] += env->jump_reward;
}

static void add_log(Pegs* env, const Player* me, int won, int stuck) {
    env->log.perf += won;
    env->log.score += (float)(me->start - me->pegs) / (me->start - 1);
    env->log.episode_return += me->ret;
    env->log.episode_length += me->tick;
    env->log.stuck += stuck;
    env->log.late += !won && !stuck;
    env->log.n += 1.0f;
}

void c_step(Pegs* env) {
    for (int a = 0; a < env->num_agents; a++) {
        Player* me = &env->players[a];
        env->rewards[a] = 0.0f;
        env->terminals[a] = 0.0f;
        me->tick++;

        int action = (int)env->actions[a];
        int d = action % 4;
        if (action < 4) {
            if (inside(me->x + DX[d], me->y + DY[d])) {
                me->x += DX[d];
                me->y += DY[d];
            }
        } else if (can_jump(me, me->x, me->y, d)) {
            jump(env, a, d);
        }

        int won = me->pegs == 1;
        int stuck = !won && count_jumps(me) == 0;
        int late = me->tick >= me->limit;
        if (won) env->rewards[a] += env->win_reward;
        if (stuck) env->rewards[a] -= env->stuck_cost;
        me->ret += env->rewards[a];
        if (won || stuck || late) {
            env->terminals[a] = 1.0f;
            add_log(env, me, won, stuck);
            deal(env, a);
        }
        observe(env, a);
    }
}

void c_render(Pegs* env) {
    const int px = 48;
    if (!IsWindowReady()) {
        InitWindow((env->num_agents * (SIZE + 1) - 1) * px, SIZE * px, "PufferLib Pegs");
        SetTargetFPS(8);
    }
    if (IsKeyDown(KEY_ESCAPE)) {
        exit(0);
    }

    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    for (int a = 0; a < env->num_agents; a++) {
        const Player* me = &env->players[a];
        int left = a * (SIZE + 1) * px;
        for (int cell = 0; cell < CELLS; cell++) {
            int cx = left + cell % SIZE * px + px / 2;
            int cy = cell / SIZE * px + px / 2;
            DrawCircle(cx, cy, me->cells[cell] ? px / 3 : px / 8, me->cells[cell] ? GOLD : GRAY);
        }
        DrawRectangleLines(left + me->x * px, me->y * px, px, px, RAYWHITE);
    }
    EndDrawing();
}

void c_close(Pegs* env) {
}
