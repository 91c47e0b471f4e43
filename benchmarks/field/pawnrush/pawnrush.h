// Pawnrush: twelve pawns against twelve on a board of six by six. A pawn goes one row forward:
// straight ahead to an empty square, or diagonally to a square that is empty or holds an enemy,
// who is taken. Whoever brings a pawn to the far row wins, and so does who takes the last enemy.
// There are no draws: every move goes forward, and the foremost pawn always has a move.
//
// Both players are agents of one policy (self-play). Each sees the board from its own side: its
// pawns start in the two lowest rows and go up. The board is stored from the side of seat 0; seat
// 1 sees it turned by half a turn.
//
// One ply per step. An action is 3 * (square it starts from) + (0 left, 1 straight, 2 right), in
// the player's own view, or PASS, which is all that the player who waits may do; what it chooses
// is ignored. The mask forbids what is not legal. Who plays it anyway loses on the spot.
//
// A row of the observation, in bytes: 36 squares (S_* below, from the own lower left corner), 1
// if it is the player's turn, and the square that the last move went to, plus one (0: none yet).
#pragma once

#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define SEATS 2
#define SIDE 6
#define CELLS (SIDE * SIDE)
#define PASS (3 * CELLS)
#define ACTS (PASS + 1)
#define ROW (CELLS + 2)
#define MAX_OPENING 6          // no pawn can be through after three moves

#define S_EMPTY 0
#define S_MINE 1
#define S_ENEMY 2

#define NOBODY -1

// Required struct. Only use floats!
typedef struct {
    float perf;                // 1 if the game was won on the board, not by a forfeit
    float score;               // pawns taken
    float episode_return;      // mean of the two players
    float episode_length;      // plies
    float starter_wins;
    float forfeits;
    float n;                   // Required as the last field
} Log;

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
    int opening;
    float capture_reward;
    float move_cost;
    float forfeit_cost;

    signed char board[CELLS];  // seat of the pawn or NOBODY
    int pawns[SEATS];
    int turn;
    int starter;
    int last;                  // square of the last move (seat 0's view) or -1
    int plies;
    int taken;
    float returns[SEATS];
} Pawnrush;

void init(Pawnrush* env) {
    if (env->opening < 0) env->opening = 0;
    if (env->opening > MAX_OPENING) env->opening = MAX_OPENING;
}

void c_close(Pawnrush* env) {
}

// A square of a seat's own view <-> a square of the board
static inline int turned(int seat, int cell) {
    return seat == 0 ? cell : CELLS - 1 - cell;
}

// Where a move goes, in the view of who makes it; -1 if it leaves the board
static int target(int action) {
    int from = action / 3;
    int row = from / SIDE + 1;
    int col = from % SIDE + action % 3 - 1;
    if (row >= SIDE || col < 0 || col >= SIDE) return -1;
    return row * SIDE + col;
}

static int legal(Pawnrush* env, int seat, int action) {
    if (action < 0 || action >= PASS) return 0;
    if (env->board[turned(seat, action / 3)] != seat) return 0;
    int to = target(action);
    if (to < 0) return 0;
    int there = env->board[turned(seat, to)];
    if (action % 3 == 1) return there == NOBODY;
    return there != seat;
}

static void observe(Pawnrush* env) {
    for (int seat = 0; seat < SEATS; seat++) {
        unsigned char* obs = env->observations + seat * ROW;
        for (int cell = 0; cell < CELLS; cell++) {
            int there = env->board[turned(seat, cell)];
            obs[cell] = there == NOBODY ? S_EMPTY : there == seat ? S_MINE : S_ENEMY;
        }
        obs[CELLS] = env->turn == seat;
        obs[CELLS + 1] = env->last < 0 ? 0 : turned(seat, env->last) + 1;

        unsigned char* mask = env->action_mask + seat * ACTS;
        for (int action = 0; action < PASS; action++) {
            mask[action] = env->turn == seat && legal(env, seat, action);
        }
        mask[PASS] = env->turn != seat;
    }
}

// Plays a legal move. Returns 1 if it takes a pawn
static int make_move(Pawnrush* env, int seat, int action) {
    int from = turned(seat, action / 3);
    int to = turned(seat, target(action));
    int took = env->board[to] != NOBODY;
    env->board[from] = NOBODY;
    env->board[to] = seat;
    env->last = to;
    if (took) {
        env->pawns[1 - seat]--;
    }
    return took;
}

static void random_ply(Pawnrush* env) {
    int moves[PASS];
    int count = 0;
    for (int action = 0; action < PASS; action++) {
        if (legal(env, env->turn, action)) {
            moves[count++] = action;
        }
    }
    make_move(env, env->turn, moves[rand_r(&env->rng) % count]);
    env->turn = 1 - env->turn;
}

void c_reset(Pawnrush* env) {
    for (int cell = 0; cell < CELLS; cell++) {
        int row = cell / SIDE;
        env->board[cell] = row < 2 ? 0 : row >= SIDE - 2 ? 1 : NOBODY;
    }
    env->pawns[0] = 2 * SIDE;
    env->pawns[1] = 2 * SIDE;
    env->last = -1;
    env->turn = rand_r(&env->rng) % SEATS;
    for (int i = 0; i < env->opening; i++) {
        random_ply(env);
    }
    env->starter = env->turn;
    env->plies = 0;
    env->taken = 0;
    env->returns[0] = 0.0f;
    env->returns[1] = 0.0f;
    observe(env);
}

static void add_log(Pawnrush* env, int winner, int forfeit) {
    env->log.perf += forfeit ? 0.0f : 1.0f;
    env->log.score += env->taken;
    env->log.episode_return += 0.5f * (env->returns[0] + env->returns[1]);
    env->log.episode_length += env->plies;
    env->log.starter_wins += winner == env->starter;
    env->log.forfeits += forfeit;
    env->log.n += 1.0f;
}

void c_step(Pawnrush* env) {
    for (int seat = 0; seat < SEATS; seat++) {
        env->rewards[seat] = 0.0f;
        env->terminals[seat] = 0.0f;
    }

    int me = env->turn;
    int foe = 1 - me;
    int action = (int)env->actions[me];
    int winner = NOBODY;
    int forfeit = !legal(env, me, action);
    env->plies++;

    if (forfeit) {
        env->rewards[me] -= env->forfeit_cost;
        winner = foe;
    } else {
        env->rewards[me] -= env->move_cost;
        if (make_move(env, me, action)) {
            env->rewards[me] += env->capture_reward;
            env->taken++;
        }
        if (turned(me, env->last) >= CELLS - SIDE || env->pawns[foe] <= 0) {
            winner = me;
        }
    }
    if (winner != NOBODY) {
        env->rewards[winner] += 1.0f;
        env->rewards[1 - winner] -= 1.0f;
    }

    for (int seat = 0; seat < SEATS; seat++) {
        env->returns[seat] += env->rewards[seat];
    }
    if (winner != NOBODY) {
        add_log(env, winner, forfeit);
        env->terminals[me] = 1.0f;
        env->terminals[foe] = 1.0f;
        c_reset(env);
        return;
    }
    env->turn = foe;
    observe(env);
}

void c_render(Pawnrush* env) {
    const int px = 80;
    if (!IsWindowReady()) {
        InitWindow(SIDE * px, SIDE * px + 30, "PufferLib Pawnrush");
        SetTargetFPS(4);
    }
    if (IsKeyDown(KEY_ESCAPE)) {
        exit(0);
    }

    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    for (int cell = 0; cell < CELLS; cell++) {
        int x = cell % SIDE * px;
        int y = (SIDE - 1 - cell / SIDE) * px;
        Color square = (cell / SIDE + cell % SIDE) % 2 ? DARKGRAY : GRAY;
        DrawRectangle(x, y, px, px, cell == env->last ? DARKGREEN : square);
        if (env->board[cell] != NOBODY) {
            DrawCircle(x + px / 2, y + px / 2, px / 3, env->board[cell] == 0 ? RAYWHITE : BLACK);
        }
    }
    DrawText(TextFormat("ply %d, %s to move", env->plies, env->turn == 0 ? "white" : "black"),
        8, SIDE * px + 6, 18, RAYWHITE);
    EndDrawing();
}
