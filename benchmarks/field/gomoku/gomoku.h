// gomoku: `line` stones in a row on a board of 7 x 7. Two agents, both learning, take turns.
//
// Both rows act on every ply, but only one of them is asked: the agent whose turn it is may take any
// free point, the other one may only pass (the mask says so). Each player has a secret point that
// is worth a small prize if it gets a stone there first; the other player cannot see which.
// A game begins with some stones already scattered, so that no two are alike.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "raylib.h"

#define SIDE 7
#define POINTS (SIDE * SIDE)
#define PASS POINTS                 // the action of whoever waits
#define ACTIONS (POINTS + 1)
#define ACT_SIZES {ACTIONS}
#define PLAYERS 2
#define NOBODY (-1)
#define WIN 1.0f
#define DIRECTIONS 4

// One player's view: its own stones come first, whichever colour they have
enum {
    OBS_TURN,                       // [0, 1]
    OBS_BLACK,                      // [0, 1]
    OBS_STAGE,                      // [0, 1]
    OBS_PACE,                       // [0, 4]
    OBS_OWN,                        // grid 7 x 7 of 2 ids
    OBS_OTHER = OBS_OWN + POINTS,   // grid 7 x 7 of 2 ids
    OBS_SECRET = OBS_OTHER + POINTS,    // grid 7 x 7 of 2 ids
    OBS_LAST = OBS_SECRET + POINTS,     // grid 7 x 7 of 2 ids
    OBS_COUNT = OBS_LAST + POINTS
};
#define OBS_SIZE OBS_COUNT

// One entry for each player of a finished game
typedef struct Log {
    float perf;                     // games that somebody won
    float score;                    // threats made: one stone short of a line, with room for it
    float episode_return;
    float episode_length;           // plies
    float black_wins;               // games that the player who opened won
    float prizes;                   // players who got their secret point
    float n;
} Log;

typedef struct Player {
    int secret;                     // puffer: private
    int threats;
    int prizes;
    float total;
} Player;

typedef struct Gomoku {
    Log log;
    float* observations;            // PLAYERS x OBS_SIZE
    float* actions;                 // PLAYERS
    float* rewards;
    float* terminals;
    unsigned char* action_mask;     // PLAYERS x ACTIONS
    int num_agents;
    unsigned int rng;

    // settings
    int line;
    int opening;
    float threat_bonus;
    float prize;
    float draw_reward;

    signed char board[SIDE][SIDE];  // whose stone: 0, 1 or NOBODY
    Player players[PLAYERS];
    int black;                      // who has the first stone of the game
    int mover;                      // whose turn it is
    int stones;
    int plies;                      // stones that the agents placed, and forfeits
    int last;                       // the point taken last, or PASS
} Gomoku;

static inline uint32_t next_word(unsigned int* state) {
    uint32_t x = (*state += 0x6D2B79F5u);
    x = (x ^ (x >> 15)) * (x | 1u);
    x ^= x + (x ^ (x >> 7)) * (x | 61u);
    return x ^ (x >> 14);
}

static inline int pick(Gomoku* env, int count) {
    return (int)((uint64_t)next_word(&env->rng) * (uint64_t)count >> 32);
}

static inline bool on_board(int row, int col) {
    return row >= 0 && row < SIDE && col >= 0 && col < SIDE;
}

// Counts the stones of one player that follow a point in one direction; `open` says whether
// the point behind them is free
static inline int follow(const Gomoku* env, int who, int row, int col, int dy, int dx, bool* open) {
    int count = 0;
    row += dy;
    col += dx;
    while (on_board(row, col) && env->board[row][col] == who) {
        count++;
        row += dy;
        col += dx;
    }
    *open = on_board(row, col) && env->board[row][col] == NOBODY;
    return count;
}

// What a stone of a player on this point makes: a line, or else how many threats
typedef struct Made {
    bool line;
    int threats;
} Made;

static inline Made judge(const Gomoku* env, int who, int row, int col) {
    static const int ways[DIRECTIONS][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    Made made = {false, 0};
    for (int i = 0; i < DIRECTIONS; i++) {
        int dy = ways[i][0], dx = ways[i][1];
        bool ahead, behind;
        int length = 1 + follow(env, who, row, col, dy, dx, &ahead)
                       + follow(env, who, row, col, -dy, -dx, &behind);
        if (length >= env->line) made.line = true;
        if (length == env->line - 1 && (ahead || behind)) made.threats++;
    }
    return made;
}

static inline void place(Gomoku* env, int who, int point) {
    env->board[point / SIDE][point % SIDE] = (signed char)who;
    env->stones++;
}

// The n-th free point, counted from the top left
static inline int free_point(const Gomoku* env, int n) {
    for (int point = 0; point < POINTS; point++) {
        if (env->board[point / SIDE][point % SIDE] != NOBODY) continue;
        if (n-- == 0) return point;
    }
    return PASS;
}

static inline void write_masks(Gomoku* env) {
    for (int a = 0; a < PLAYERS; a++) {
        unsigned char* mask = env->action_mask + a * ACTIONS;
        bool waits = a != env->mover;
        for (int point = 0; point < POINTS; point++) {
            mask[point] = !waits && env->board[point / SIDE][point % SIDE] == NOBODY;
        }
        mask[PASS] = waits;
    }
}

static inline void write_view(Gomoku* env, int a) {
    const Player* self = &env->players[a];
    float* obs = env->observations + a * OBS_SIZE;
    memset(obs, 0, OBS_SIZE * sizeof(float));
    obs[OBS_TURN] = a == env->mover ? 1.0f : 0.0f;
    obs[OBS_BLACK] = a == env->black ? 1.0f : 0.0f;
    obs[OBS_STAGE] = (float)env->stones / (float)POINTS;
    if (env->plies > 0) obs[OBS_PACE] = (float)self->threats / (float)env->plies;
    for (int point = 0; point < POINTS; point++) {
        int who = env->board[point / SIDE][point % SIDE];
        if (who == a) obs[OBS_OWN + point] = 1.0f;
        if (who == 1 - a) obs[OBS_OTHER + point] = 1.0f;
        if (who == NOBODY && point == self->secret) obs[OBS_SECRET + point] = 1.0f;
    }
    if (env->last != PASS) obs[OBS_LAST + env->last] = 1.0f;
}

static inline void show(Gomoku* env) {
    for (int a = 0; a < PLAYERS; a++) {
        write_view(env, a);
    }
    write_masks(env);
}

void init(Gomoku* env) {
    env->num_agents = PLAYERS;
    if (env->line < 3) env->line = 3;
    if (env->line > SIDE) env->line = SIDE;
    if (env->opening < 0) env->opening = 0;
    if (env->opening > POINTS / 2) env->opening = POINTS / 2;
}

void c_close(Gomoku* env) {
    (void)env;
}

void c_reset(Gomoku* env) {
    memset(env->board, NOBODY, sizeof(env->board));
    env->stones = 0;
    env->plies = 0;
    env->last = PASS;
    env->black = pick(env, PLAYERS);

    // The opening: colours take turns, and a stone that would end the game is left out
    for (int i = 0; i < env->opening; i++) {
        int who = (env->black + i) % PLAYERS;
        int point = free_point(env, pick(env, POINTS - env->stones));
        if (judge(env, who, point / SIDE, point % SIDE).line) continue;
        place(env, who, point);
    }
    env->mover = (env->black + env->opening) % PLAYERS;

    for (int a = 0; a < PLAYERS; a++) {
        Player* player = &env->players[a];
        player->secret = free_point(env, pick(env, POINTS - env->stones));
        player->threats = 0;
        player->prizes = 0;
        player->total = 0.0f;
    }
    show(env);
}

static inline void finish(Gomoku* env, int winner) {
    for (int a = 0; a < PLAYERS; a++) {
        const Player* player = &env->players[a];
        env->log.perf += winner != NOBODY ? 1.0f : 0.0f;
        env->log.score += (float)player->threats;
        env->log.episode_return += player->total;
        env->log.episode_length += (float)env->plies;
        env->log.black_wins += winner == env->black ? 1.0f : 0.0f;
        env->log.prizes += (float)player->prizes;
        env->log.n += 1.0f;
    }
}

void c_step(Gomoku* env) {
    int mover = env->mover, waiter = 1 - mover;
    int point = (int)env->actions[mover];
    float reward[PLAYERS] = {0.0f, 0.0f};
    int winner = NOBODY;
    bool full = false;
    env->plies++;

    if (point < 0 || point >= POINTS || env->board[point / SIDE][point % SIDE] != NOBODY) {
        winner = waiter;            // against the mask: the game is forfeit
    } else {
        Player* self = &env->players[mover];
        place(env, mover, point);
        env->last = point;
        Made made = judge(env, mover, point / SIDE, point % SIDE);
        self->threats += made.threats;
        reward[mover] += env->threat_bonus * (float)made.threats;
        if (point == self->secret) {
            self->prizes++;
            reward[mover] += env->prize;
        }
        if (made.line) winner = mover;
        full = env->stones == POINTS && winner == NOBODY;
    }

    if (winner != NOBODY) {
        reward[winner] += WIN;
        reward[1 - winner] -= WIN;
    }
    bool over = winner != NOBODY || full;
    for (int a = 0; a < PLAYERS; a++) {
        if (full) reward[a] += env->draw_reward;
        env->players[a].total += reward[a];
        env->rewards[a] = reward[a];
        env->terminals[a] = over ? 1.0f : 0.0f;
    }

    if (over) {
        finish(env, winner);
        c_reset(env);
        return;
    }
    env->mover = waiter;
    show(env);
}

void c_render(Gomoku* env) {
    const int gap = 80, edge = 60, top = 40;
    const Color wood = {214, 170, 110, 255}, ink = {70, 50, 30, 255};
    if (!IsWindowReady()) {
        InitWindow(2 * edge + (SIDE - 1) * gap, top + 2 * edge + (SIDE - 1) * gap, "gomoku");
        SetTargetFPS(3);
    }
    BeginDrawing();
    ClearBackground(wood);
    for (int i = 0; i < SIDE; i++) {
        int along = edge + i * gap, end = edge + (SIDE - 1) * gap;
        DrawLine(along, top + edge, along, top + end, ink);
        DrawLine(edge, top + along, end, top + along, ink);
    }
    for (int point = 0; point < POINTS; point++) {
        int row = point / SIDE, col = point % SIDE, who = env->board[row][col];
        int x = edge + col * gap, y = top + edge + row * gap;
        if (who != NOBODY) DrawCircle(x, y, 32.0f, who == env->black ? BLACK : RAYWHITE);
        if (point == env->last) DrawCircle(x, y, 8.0f, RED);
    }
    DrawText(env->mover == env->black ? "black to move" : "white to move", 16, 12, 24, ink);
    EndDrawing();
}
