/* tileswap.h -- a sliding puzzle: bring all tiles home.  One agent, two heads, a mask.
 *
 *      1 2 5       a board of size x size cells, one of them empty. The hole swaps places with
 *      4 . 3       its neighbours, one after the other: a move goes up to two cells far, and
 *      7 8 6       pushes that many tiles
 *
 * An episode begins with the solved board after some random moves, so it can always be
 * solved. It ends with all tiles at home, or is cut off after `patience` ticks.
 *
 * Tile t is at home in cell t; tile 0 is the hole. The observation is incremental: c_reset
 * writes all of it, and after that only the cells that a move has changed are written, by
 * put(). It is equal to the board at all times.
 *
 * Units: length in cells, time in ticks. A cell is row * size + column, rows count downward.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>             // uint64_t
#include <stdlib.h>             // abs, calloc, free
#include <string.h>             // memset, memcpy
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what the agent sees and does --------------------------------------
// Floats, with N = size * size:
//     N blocks of N    for every cell, which tile lies in it: 1 at the tile's number, else 0
//     N                for every cell, 1 if it holds the tile that is at home there, else 0
//     1                the way that all tiles have to go, share of the longest, in [0, 1]
// There is no clock in it: running out of patience is a truncation
#define CELLS    (env->size * env->size)
#define OBS_HOME (CELLS * CELLS)
#define OBS_WAY  (OBS_HOME + CELLS)
#define OBS_SIZE (env->size * env->size * (env->size * env->size + 1) + 1)

enum { WAY_UP, WAY_DOWN, WAY_LEFT, WAY_RIGHT, WAY_COUNT };  // head 0: where the hole goes
#define FAR_COUNT 2             // head 1: 0 one cell, 1 two, or as far as the board reaches
#define ACT_SIZES {WAY_COUNT, FAR_COUNT}
enum { HEAD_WAY, HEAD_FAR };
#define MASK_FAR WAY_COUNT      // where the second head's bytes begin; they are always 1

//-- State ------------------------------------------------------------------------
typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  share of boards that were solved
    float score;                // at most 1: the share of the way that the tiles were brought;
                                // below 0 if they ended farther away
    float episode_return;       // what the trainer maximises
    float episode_length;       // ticks
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct Tileswap {
    // Shared with the trainer, which owns the arrays
    Log log;
    float* observations;        // out [OBS_SIZE]
    float* actions;             // in  [2]  a WAY_ value, and how far
    float* rewards;             // out [1]
    float* terminals;           // out [1]
    float* truncations;         // out [1]  1 where patience ended it; else 0
    float* final_observations;  // out [OBS_SIZE]  what was seen last, where it was cut off
    unsigned char* action_mask; // out [WAY_COUNT + FAR_COUNT]  0: the hole is at that edge
    int num_agents;
    unsigned int rng;           // this copy's seed, then its generator state

    // Settings, from [env] in tileswap.ini
    int size;                   // cells along one side
    int scramble;               // random moves that an episode begins with, at most
    int patience;               // ticks until it is cut off
    float reward_solved;
    float reward_way;           // for each cell that a tile comes closer to its home
    float step_cost;            // of every tick

    // Private to this file; c_reset sets all of it
    int* board;                 // (size, size)  from init to c_close: the tile in each cell
    int hole;                   // the cell without a tile
    int way;                    // cells that all tiles have to go, summed
    int first_way;              // the same when the episode began; never 0
    int tick;                   // steps of this episode
    float episode_return;
} Tileswap;

// Uniform in [0, count), from the state in the env
static inline int random_below(unsigned int* rng, int count) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (int)(((uint64_t)bits * (uint64_t)count) >> 32);
}

// Cells from a tile to its home. The hole has to go nowhere: it is where it must be once
// all the others are
static inline int way_home(const Tileswap* env, int cell, int tile) {
    if (tile == 0) {
        return 0;
    }
    return abs(cell / env->size - tile / env->size) + abs(cell % env->size - tile % env->size);
}

// No tile is ever farther than 2 * (size - 1) from its home, and there are CELLS - 1
static inline int longest_way(const Tileswap* env) {
    return 2 * (env->size - 1) * (CELLS - 1);
}

// Lays a tile, and corrects the observation where that changes it
static inline void put(Tileswap* env, int cell, int tile) {
    float* seen = env->observations + cell * CELLS;
    seen[env->board[cell]] = 0.0f;
    env->board[cell] = tile;
    seen[tile] = 1.0f;
    env->observations[OBS_HOME + cell] = tile == cell ? 1.0f : 0.0f;
}

// All of the observation, from the board
static inline void observe(Tileswap* env) {
    memset(env->observations, 0, (size_t)OBS_SIZE * sizeof(float));
    for (int cell = 0; cell < CELLS; cell++) {
        put(env, cell, env->board[cell]);
    }
    env->observations[OBS_WAY] = (float)env->way / (float)longest_way(env);
}

// Cells between the hole and the edge that it would go to
static inline int room(const Tileswap* env, int way) {
    int row = env->hole / env->size, col = env->hole % env->size;
    switch (way) {
        case WAY_UP:   return row;
        case WAY_DOWN: return env->size - 1 - row;
        case WAY_LEFT: return col;
        default:       return env->size - 1 - col;
    }
}

static inline void mask(Tileswap* env) {
    for (int way = 0; way < WAY_COUNT; way++) {
        env->action_mask[way] = room(env, way) > 0;
    }
    memset(env->action_mask + MASK_FAR, 1, FAR_COUNT);
}

// The hole goes up to `far` cells, where `seen` is true with the observation after it. At the
// edge it stays: a program may well ignore the mask
static inline void slide(Tileswap* env, int way, int far, bool seen) {
    int ahead = way == WAY_UP ? -env->size : way == WAY_DOWN ? env->size
              : way == WAY_LEFT ? -1 : 1;
    int free_cells = room(env, way);
    int cells = far < free_cells ? far : free_cells;
    for (int i = 0; i < cells; i++) {
        int next = env->hole + ahead, tile = env->board[next];
        env->way += way_home(env, env->hole, tile) - way_home(env, next, tile);
        if (seen) {
            put(env, env->hole, tile);
            put(env, next, 0);
        } else {
            env->board[env->hole] = tile;
            env->board[next] = 0;
        }
        env->hole = next;
    }
    if (seen && cells > 0) {
        env->observations[OBS_WAY] = (float)env->way / (float)longest_way(env);
    }
}

//-- Functions --------------------------------------------------------------------
void init(Tileswap* env) {
    if (env->size < 2) env->size = 2;           // a hole, and somewhere to go
    if (env->patience < 1) env->patience = 1;
    env->board = (int*)calloc((size_t)CELLS, sizeof(int));
}

void c_close(Tileswap* env) {
    free(env->board);
}

// Moves by turns along a row and along a column, lest one undo the other. They may lead back
// to the solved board all the same: then some more follow
static inline void shuffle(Tileswap* env) {
    int moves = 1 + (env->scramble > 1 ? random_below(&env->rng, env->scramble) : 0);
    bool level = random_below(&env->rng, 2) == 1;
    for (int i = 0; i < moves || env->way == 0; i++) {
        int way = (level ? WAY_LEFT : WAY_UP) + random_below(&env->rng, 2);
        if (room(env, way) == 0) {
            way ^= 1;           // the opposite way, which is always open
        }
        slide(env, way, 1 + random_below(&env->rng, FAR_COUNT), false);
        level = !level;
    }
}

void c_reset(Tileswap* env) {
    for (int cell = 0; cell < CELLS; cell++) {
        env->board[cell] = cell;
    }
    env->hole = 0;
    env->way = 0;
    env->tick = 0;
    env->episode_return = 0.0f;
    shuffle(env);
    env->first_way = env->way;
    observe(env);
    mask(env);
}

static inline void write_log(Tileswap* env) {
    env->log.perf += env->way == 0 ? 1.0f : 0.0f;
    env->log.score += (float)(env->first_way - env->way) / (float)env->first_way;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
}

void c_step(Tileswap* env) {
    int way_before = env->way;
    slide(env, (int)env->actions[HEAD_WAY], 1 + (int)env->actions[HEAD_FAR], true);
    env->tick += 1;

    bool solved = env->way == 0;
    bool late = !solved && env->tick >= env->patience;
    float reward = -env->step_cost + env->reward_way * (float)(way_before - env->way);
    if (solved) {
        reward += env->reward_solved;
    }
    env->episode_return += reward;
    env->rewards[0] = reward;
    env->terminals[0] = solved || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (!solved && !late) {
        mask(env);
        return;
    }

    if (late) {
        memcpy(env->final_observations, env->observations, (size_t)OBS_SIZE * sizeof(float));
    }
    write_log(env);
    c_reset(env);
}

//-- Drawing ----------------------------------------------------------------------
#ifndef PUFFER_DEVICE
void c_render(Tileswap* env) {
    const Color night = {16, 24, 32, 255}, gold = {255, 190, 60, 255}, teal = {0, 205, 190, 255};
    const int hud = 44, tile = 120, side = tile * env->size;
    if (!IsWindowReady()) {
        InitWindow(side, hud + side, "tileswap");
        SetTargetFPS(4);
    }
    BeginDrawing();
    ClearBackground(night);
    for (int cell = 0; cell < CELLS; cell++) {
        int x = cell % env->size * tile, y = hud + cell / env->size * tile;
        if (cell != env->hole) {
            DrawRectangle(x + 3, y + 3, tile - 6, tile - 6, env->board[cell] == cell ? teal : gold);
            DrawText(TextFormat("%d", env->board[cell]), x + tile / 2 - 12, y + tile / 2 - 18, 36,
                     night);
        }
    }
    DrawText(TextFormat("%d to go, tick %d of %d", env->way, env->tick, env->patience), 12, 12, 20,
             RAYWHITE);
    EndDrawing();
}
#endif
