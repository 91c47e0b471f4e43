// SLIDE: push all tiles of a 4x4 tray to one side; equal neighbours join.
//
//   A tile has a rank from 1 to TOP. Two tiles of rank r that meet in a push become one of
//   rank r + 1, and a tile joins at most once per push. Two tiles of rank TOP do not join:
//   they VANISH, which is what the game is about, and what makes room for more.
//   After a push that moved anything, a new tile of rank 1 or 2 drops in on the side that
//   the tiles came from (push left: somewhere in the rightmost column). Its rank has been
//   visible since the push before, its place has not.
//   A push that moves nothing is a bump: the tray stays exactly as it is, no tile drops in,
//   and a small price is paid. The clock ticks all the same; nobody sees the clock.
//
//   Over when no push would move anything (-1), or when the clock has run out, which is no
//   fault of the player's and is therefore a truncation.
#ifndef SLIDE_H
#define SLIDE_H

#include <stdint.h>
#include <string.h>
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif

#define SIDE   4
#define CELLS  (SIDE * SIDE)
#define TOP    6                    // the highest rank: worth 64
#define FACE(rank) (1 << (rank))    // the number painted on a tile
#define PURSE  ((float)(2 << TOP))  // what a vanishing pair adds up to: rewards are shares of it
#define PAR    4.0f                 // vanished pairs that make a perfect game

enum {
    OBS_TRAY,                       // grid 4 x 4 of 7 ids    the ranks, 0 where it is empty
    OBS_NEXT = OBS_TRAY + CELLS,    // 2 ids                  rank of the coming tile, less one
    OBS_LOAD,                       // [0, 64]                all faces together, in sixteens
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

enum { PUSH_LEFT, PUSH_RIGHT, PUSH_UP, PUSH_DOWN, PUSHES };
#define ACT_SIZES {PUSHES}

typedef struct Log {
    float perf;                     // [0, 1] vanished pairs, as a share of PAR
    float score;                    // vanished pairs
    float episode_return;
    float episode_length;           // ticks, the bumps among them
    float bumps;                    // pushes that moved nothing
    float best;                     // the highest rank seen in the episode
    float n;
} Log;

typedef struct Slide {
    Log log;
    unsigned char* observations;        // (OBS_SIZE)
    unsigned char* final_observations;  // (OBS_SIZE) the tray at the moment the clock ran out
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    int num_agents;
    unsigned int rng;

    // [env]
    int max_ticks;                  // length of the clock
    int twos;                       // of a hundred new tiles, how many have rank 2
    float bump_cost;                // price of a push that moves nothing

    // an episode
    unsigned char tray[CELLS];      // ranks, row by row
    int next;                       // rank of the tile that comes in next
    int ticks;
    int bumps;
    int pairs;                      // vanished so far
    int best;
    float total;                    // of the rewards so far
} Slide;

// A number from 0 to bound - 1 (xorshift on a Weyl counter; any seed will do)
static int slide_draw(Slide* env, int bound) {
    env->rng += 0x6D2B79F5u;
    uint32_t z = env->rng;
    z = (z ^ (z >> 15)) * (z | 1u);
    z ^= z + (z ^ (z >> 7)) * (z | 61u);
    z ^= z >> 14;
    return (int)(((uint64_t)z * (uint64_t)bound) >> 32);
}

static int slide_draw_rank(Slide* env) {
    return slide_draw(env, 100) < env->twos ? 2 : 1;
}

// Cell number `depth` of lane number `lane`, counted from the side that is pushed against
static int slide_cell(int push, int lane, int depth) {
    switch (push) {
        case PUSH_LEFT:  return lane * SIDE + depth;
        case PUSH_RIGHT: return lane * SIDE + (SIDE - 1 - depth);
        case PUSH_UP:    return depth * SIDE + lane;
        default:         return (SIDE - 1 - depth) * SIDE + lane;
    }
}

// What one push did
typedef struct Outcome {
    int moved;                      // any tile is elsewhere now, joined or gone
    int faces;                      // painted numbers of the tiles that were made
    int pairs;                      // of rank TOP that vanished
} Outcome;

// Push one lane against its wall. `open` says whether the last tile that was put down may
// still join: a tile that has joined may not, and across the gap of a vanished pair nothing does
static void slide_lane(Slide* env, int push, int lane, Outcome* out) {
    unsigned char packed[SIDE] = {0};
    int count = 0, open = 0;
    for (int depth = 0; depth < SIDE; depth++) {
        int rank = env->tray[slide_cell(push, lane, depth)];
        if (rank == 0) continue;
        if (open && packed[count - 1] == rank) {
            open = 0;
            if (rank >= TOP) {
                packed[--count] = 0;
                out->pairs++;
            } else {
                packed[count - 1] = (unsigned char)(rank + 1);
                out->faces += FACE(rank + 1);
                if (rank + 1 > env->best) env->best = rank + 1;
            }
        } else {
            packed[count++] = (unsigned char)rank;
            open = 1;
        }
    }
    for (int depth = 0; depth < SIDE; depth++) {
        int cell = slide_cell(push, lane, depth);
        if (env->tray[cell] != packed[depth]) {
            env->tray[cell] = packed[depth];
            out->moved = 1;
        }
    }
}

// The new tile, on the side opposite to the wall. A lane that moved has a free cell there
static void slide_drop(Slide* env, int push) {
    int spots[SIDE], free_spots = 0;
    for (int lane = 0; lane < SIDE; lane++) {
        int cell = slide_cell(push, lane, SIDE - 1);
        if (env->tray[cell] == 0) spots[free_spots++] = cell;
    }
    int spot = spots[slide_draw(env, free_spots)];
    env->tray[spot] = (unsigned char)env->next;
    if (env->next > env->best) env->best = env->next;
    env->next = slide_draw_rank(env);
}

// No free cell, and no two equal neighbours
static int slide_stuck(const Slide* env) {
    for (int row = 0; row < SIDE; row++) {
        for (int col = 0; col < SIDE; col++) {
            int rank = env->tray[row * SIDE + col];
            if (rank == 0) return 0;
            if (col + 1 < SIDE && env->tray[row * SIDE + col + 1] == rank) return 0;
            if (row + 1 < SIDE && env->tray[(row + 1) * SIDE + col] == rank) return 0;
        }
    }
    return 1;
}

static void slide_look(const Slide* env, unsigned char* row) {
    int load = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        int rank = env->tray[cell];
        row[OBS_TRAY + cell] = (unsigned char)rank;
        if (rank > 0) load += FACE(rank);
    }
    row[OBS_NEXT] = (unsigned char)(env->next - 1);
    row[OBS_LOAD] = (unsigned char)(load / 16);
}

void init(Slide* env) {
    (void)env;
}

void c_close(Slide* env) {
    (void)env;
}

// Two tiles of rank 1, anywhere
void c_reset(Slide* env) {
    memset(env->tray, 0, sizeof env->tray);
    int first = slide_draw(env, CELLS);
    int second = (first + 1 + slide_draw(env, CELLS - 1)) % CELLS;
    env->tray[first] = 1;
    env->tray[second] = 1;
    env->next = slide_draw_rank(env);
    env->ticks = 0;
    env->bumps = 0;
    env->pairs = 0;
    env->best = 1;
    env->total = 0.0f;
    slide_look(env, env->observations);
}

static void slide_write_log(Slide* env) {
    float share = (float)env->pairs / PAR;
    env->log.perf += share < 1.0f ? share : 1.0f;
    env->log.score += (float)env->pairs;
    env->log.episode_return += env->total;
    env->log.episode_length += (float)env->ticks;
    env->log.bumps += (float)env->bumps;
    env->log.best += (float)env->best;
    env->log.n += 1.0f;
}

void c_step(Slide* env) {
    int push = (int)env->actions[0];
    Outcome out = {0, 0, 0};
    for (int lane = 0; lane < SIDE; lane++) {
        slide_lane(env, push, lane, &out);
    }

    env->ticks++;
    int stuck = 0;
    if (out.moved) {
        env->pairs += out.pairs;
        env->rewards[0] = (float)out.faces / PURSE + (float)out.pairs;
        slide_drop(env, push);
        stuck = slide_stuck(env);
    } else {
        env->bumps++;
        env->rewards[0] = -env->bump_cost;
    }
    if (stuck) env->rewards[0] = env->rewards[0] - 1.0f;
    env->total += env->rewards[0];

    int late = !stuck && env->ticks >= env->max_ticks;
    env->terminals[0] = stuck || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (late) slide_look(env, env->final_observations);

    if (stuck || late) {
        slide_write_log(env);
        c_reset(env);
    } else if (out.moved) {
        slide_look(env, env->observations);     // after a bump it is still right
    }
}

#ifndef PUFFER_DEVICE
void c_render(Slide* env) {
    enum { TILE = 120, PAD = 8, BAR = 48 };
    if (!IsWindowReady()) {
        InitWindow(SIDE * TILE, SIDE * TILE + BAR, "slide");
        SetTargetFPS(6);
    }
    static const Color paint[TOP + 1] = {
        {52, 48, 60, 255}, {88, 96, 128, 255}, {72, 128, 160, 255}, {64, 160, 128, 255},
        {176, 160, 72, 255}, {208, 120, 64, 255}, {216, 72, 88, 255},
    };
    BeginDrawing();
    ClearBackground((Color){34, 32, 40, 255});
    for (int cell = 0; cell < CELLS; cell++) {
        int rank = env->tray[cell];
        int x = cell % SIDE * TILE, y = BAR + cell / SIDE * TILE;
        DrawRectangle(x + PAD, y + PAD, TILE - 2 * PAD, TILE - 2 * PAD, paint[rank]);
        if (rank > 0) DrawText(TextFormat("%d", FACE(rank)), x + 36, y + 40, 40, RAYWHITE);
    }
    DrawText(TextFormat("pairs %d   next %d   tick %d/%d", env->pairs, FACE(env->next),
                        env->ticks, env->max_ticks), 12, 14, 20, RAYWHITE);
    EndDrawing();
}
#endif

#endif
