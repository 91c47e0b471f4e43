// mines.h - minesweeper on bitboards. Bit r*8+c of a board is the tile in row r, column c.
//
//   actions  {8, 8, 2}: row, column, 0 = open / 1 = plant or remove a flag
//   sees     64 bytes: 0..8 mines around an open tile, 9 covered, 10 flagged
//            1 byte:   mines not yet flagged, floor 0
//            1 byte:   share of safe tiles that are open, in 255ths
#pragma once

#include <stdint.h>
#include "raylib.h"

typedef uint64_t board_t;

enum { ROWS = 8, COLS = 8, TILES = ROWS * COLS };
enum { COVERED = 9, FLAGGED = 10 };
enum { AT_ROW, AT_COL, AT_TOOL, NUM_CHOICES };
enum { TOOL_OPEN, TOOL_FLAG };

#define OBS_SIZE  (TILES + 2)
#define ACT_SIZES {ROWS, COLS, 2}

#define FILE_A 0x0101010101010101ull
#define FILE_H 0x8080808080808080ull

struct Log {
    float perf;             // share of the safe tiles that were opened
    float score;            // 1 a cleared board
    float episode_return;
    float episode_length;
    float n;
};
typedef struct Log Log;

struct Mines {
    Log log;
    uint8_t* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    int mines;              // [env] how many, 1..55
    int max_ticks;          // [env]

    board_t mined, open, flags;
    int laid;               // mines are laid by the first opening, away from it
    int tick;
    float so_far;
};
typedef struct Mines Mines;

static inline board_t bit(int tile) { return 1ull << tile; }
static inline int count(board_t b) { return __builtin_popcountll(b); }

// All tiles that touch a tile of b, b included
static inline board_t grow(board_t b) {
    b |= ((b << 1) & ~FILE_A) | ((b >> 1) & ~FILE_H);
    return b | (b << 8) | (b >> 8);
}

static inline int pick(Mines* env, int n) {
    uint32_t x = (env->rng += 0x6D2B79F5u);
    x = (x ^ (x >> 15)) * (x | 1u);
    x ^= x + (x ^ (x >> 7)) * (x | 61u);
    x ^= x >> 14;
    return (int)(((uint64_t)x * (uint64_t)n) >> 32);
}

// The k-th of the set bits
static inline int nth(board_t b, int k) {
    while (k-- > 0) b &= b - 1;
    return __builtin_ctzll(b);
}

static void lay_mines(Mines* env, int first) {
    board_t room = ~grow(bit(first));
    env->mined = 0;
    for (int i = 0; i < env->mines && room; i++) {
        int tile = nth(room, pick(env, count(room)));
        env->mined |= bit(tile);
        room &= ~bit(tile);
    }
    env->laid = 1;
}

static inline int around(const Mines* env, int tile) {
    return count(grow(bit(tile)) & ~bit(tile) & env->mined);
}

// Open a tile and, where no mine touches, everything connected to it
static void uncover(Mines* env, int tile) {
    board_t blank = 0;
    for (int t = 0; t < TILES; t++)
        if (!(env->mined & bit(t)) && around(env, t) == 0) blank |= bit(t);
    board_t area = bit(tile), before = 0;
    while (area != before) {
        before = area;
        area |= grow(area & blank) & ~env->flags;
    }
    env->open |= area;
}

static float progress(const Mines* env) {
    return (float)count(env->open & ~env->mined) / (float)(TILES - env->mines);
}

static void observe(Mines* env) {
    uint8_t* out = env->observations;
    for (int t = 0; t < TILES; t++) {
        if (env->flags & bit(t)) out[t] = FLAGGED;
        else if (env->open & bit(t)) out[t] = (uint8_t)around(env, t);
        else out[t] = COVERED;
    }
    int left = env->mines - count(env->flags);
    out[TILES] = (uint8_t)(left > 0 ? left : 0);
    out[TILES + 1] = (uint8_t)(255.0f * progress(env));
}

void init(Mines* env) {
    if (env->mines < 1) env->mines = 1;
    if (env->mines > 55) env->mines = 55;       // nine tiles stay free around the first
}

void c_reset(Mines* env) {
    env->mined = env->open = env->flags = 0;
    env->laid = 0;
    env->tick = 0;
    env->so_far = 0.0f;
    observe(env);
}

static void finish(Mines* env, int won) {
    env->terminals[0] = 1.0f;
    env->log.perf += progress(env);
    env->log.score += (float)won;
    env->log.episode_return += env->so_far;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);
}

void c_step(Mines* env) {
    int tile = COLS * (int)env->actions[AT_ROW] + (int)env->actions[AT_COL];
    int tool = (int)env->actions[AT_TOOL];
    float gain = 0.0f;
    int lost = 0;
    env->tick++;
    env->terminals[0] = 0.0f;

    if (env->open & bit(tile)) {
        gain = -0.02f;                          // nothing to do here
    } else if (tool == TOOL_FLAG) {
        env->flags ^= bit(tile);
    } else if (!(env->flags & bit(tile))) {     // flags protect
        if (!env->laid) lay_mines(env, tile);
        if (env->mined & bit(tile)) {
            lost = 1;
            gain = -0.5f;
        } else {
            float had = progress(env);
            uncover(env, tile);
            gain = 0.5f * (progress(env) - had);
        }
    }
    int won = !lost && count(env->open) == TILES - env->mines;
    if (won) gain += 0.5f;
    env->rewards[0] = gain;
    env->so_far += gain;
    if (won || lost || env->tick >= env->max_ticks) finish(env, won);
    else observe(env);
}

void c_close(Mines* env) {
    (void)env;
}

void c_render(Mines* env) {
    if (!IsWindowReady()) {
        InitWindow(COLS * 50, ROWS * 50, "mines");
        SetTargetFPS(4);
    }
    BeginDrawing();
    ClearBackground(RAYWHITE);
    for (int t = 0; t < TILES; t++) {
        int v = env->observations[t];
        DrawRectangle(t % COLS * 50, t / COLS * 50, 48, 48, v == COVERED ? GRAY : v == FLAGGED ? RED : WHITE);
        if (v < COVERED) DrawText(TextFormat("%d", v), t % COLS * 50 + 18, t / COLS * 50 + 14, 20, BLACK);
    }
    EndDrawing();
}
