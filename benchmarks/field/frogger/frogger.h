/* frogger.h -- a frog hops across two roads, again and again.  One agent, five actions.
 *
 *      ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~       ~   home: +reward_cross, and the next frog starts
 *      . > . . . . . > > . . . .       >   a car or truck that drives to the right
 *      . . . < . . . . . < . . .       <   one that drives to the left
 *      = = = = = = = = = = = = =       =   a bank, where nothing drives
 *      . . > > . . . . . . . > .
 *      < . . . . < < . . . . . .
 *      = = = = = = F = = = = = =       F   the frog
 *
 * What leaves the road at one side comes in again at the other. Every lane has its own way
 * and its own pace: its cars go one tile every `period` ticks. With every crossing the
 * traffic is laid out anew, and is denser. The frog has a few lives and a clock, sees
 * both, and the game is won with the last crossing that was asked for.
 *
 * Units: length in tiles, time in ticks. Rows count downward: 0 is home.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>             // uint64_t
#include <stdlib.h>             // calloc, free
#include <string.h>             // memset, memmove
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what the frog sees and does ---------------------------------------
#define VIEW 3                  // tiles that it sees each way
#define SIDE (2 * VIEW + 1)

enum {                          // observations, one byte each
    OBS_CLOCK,                  // [0, 20]  twentieths of the time that are left, rounded up
    OBS_LIVES,                  // [0, 255] lives left, this one among them
    OBS_CROSSINGS,              // [0, 255] crossings so far
    OBS_ROW,                    // [0, 255] rows from the start to the frog
    OBS_BEST,                   // [0, 255] rows from the start to the farthest it has been
    OBS_WAIT,                   // [0, 255] per row in view: ticks until its cars move; 0 no lane
    OBS_WINDOW = OBS_WAIT + SIDE,   // grid SIDE x SIDE of 6 ids: the tiles around the frog,
                                    // which is in the middle and not drawn
    OBS_COUNT = OBS_WINDOW + SIDE * SIDE
};
#define OBS_SIZE OBS_COUNT

enum {                          // what a byte of the window means
    TILE_ROAD,
    TILE_BANK,
    TILE_HOME,
    TILE_LEFT,                  // a car that drives to the left
    TILE_RIGHT,
    TILE_OUTSIDE,               // of the board
};

enum {                          // actions, pick one. At the board's edge the frog stays
    ACT_STAY,
    ACT_UP,
    ACT_DOWN,
    ACT_LEFT,
    ACT_RIGHT,
    ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT}

//-- Rules that are no settings ---------------------------------------------------
#define MIN_GAP 3               // tiles that are free behind every car

//-- State ------------------------------------------------------------------------
typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  crossings, share of those asked for
    float score;                // crossings
    float care;                 // [0, 1]  share of its frogs that came across; 0 if none ended
    float episode_return;       // what the trainer maximises
    float episode_length;       // ticks
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct Lane {
    int way;                    // -1 left, 1 right
    int period;                 // ticks a tile; 0: no lane
    int wait;                   // ticks until its cars move
} Lane;

typedef struct Frogger {
    // Shared with the trainer, which owns the arrays
    Log log;
    unsigned char* observations;    // out [OBS_SIZE]
    float* actions;                 // in  [1]  an ACT_ value, stored as a float
    float* rewards;                 // out [1]
    float* terminals;               // out [1]
    int num_agents;
    unsigned int rng;               // this copy's seed, then its generator state

    // Settings, from [env] in frogger.ini
    int width;                      // tiles of a row
    int lanes;                      // of both roads together
    int gap;                        // tiles between two cars, at least, on the first crossing
    int harder;                     // by how many it is less on each further one
    int longest;                    // tiles of the longest truck
    int slowest;                    // ticks a tile of the slowest lane
    int lives;
    int goal_crossings;             // with so many the game is won
    int max_ticks;                  // then the game is over: the frog sees the clock
    float reward_row;               // for each row farther than this frog has been
    float reward_cross;
    float reward_hit;

    // What follows from the settings, from init to c_close
    int rows;
    unsigned char* board;           // (rows, width)  a TILE_ value each, without the frog
    Lane* lane;                     // (rows)

    // Private to this file; c_reset sets all of it, and board and lane
    int row, col;                   // the frog
    int best;                       // the topmost row that this frog has been in
    int lives_left;
    int crossings;
    int hits;
    int tick;                       // steps of this episode
    float episode_return;
} Frogger;

// Uniform in [0, count), from the state in the env
static inline int random_below(unsigned int* rng, int count) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (int)(((uint64_t)bits * (uint64_t)count) >> 32);
}

static inline int at_least(int value, int least) {
    return value < least ? least : value;
}

static inline bool is_bank(const Frogger* env, int row) {
    return row == env->rows - 1 || row == 1 + env->lanes / 2;
}

// Every byte of the row: the tiles in view, which are partly outside of the board
static inline void observe(Frogger* env) {
    unsigned char* obs = env->observations;
    int left = env->max_ticks - env->tick, start = env->rows - 1;
    obs[OBS_CLOCK] = (unsigned char)((20 * left + env->max_ticks - 1) / env->max_ticks);
    obs[OBS_LIVES] = (unsigned char)env->lives_left;
    obs[OBS_CROSSINGS] = (unsigned char)env->crossings;
    obs[OBS_ROW] = (unsigned char)(start - env->row);
    obs[OBS_BEST] = (unsigned char)(start - env->best);
    for (int i = 0; i < SIDE; i++) {
        int row = env->row - VIEW + i;
        bool on_board = row >= 0 && row < env->rows;
        obs[OBS_WAIT + i] = on_board ? (unsigned char)env->lane[row].wait : 0;
        for (int j = 0; j < SIDE; j++) {
            int col = env->col - VIEW + j;
            bool inside = on_board && col >= 0 && col < env->width;
            obs[OBS_WINDOW + i * SIDE + j] =
                inside ? env->board[row * env->width + col] : TILE_OUTSIDE;
        }
    }
}

//-- Traffic ----------------------------------------------------------------------
// Cars from left to right, with gaps of a length by chance. The last one leaves MIN_GAP free
// at the right end, as the first one may stand at the left end, which follows on it
static inline void lay_lane(Frogger* env, int row, unsigned int* rng) {
    Lane* lane = &env->lane[row];
    unsigned char* tiles = env->board + row * env->width;
    int gap = at_least(env->gap - env->harder * env->crossings, MIN_GAP);
    lane->way = random_below(rng, 2) == 1 ? 1 : -1;
    lane->period = 1 + random_below(rng, env->slowest);
    lane->wait = 1 + random_below(rng, lane->period);
    memset(tiles, TILE_ROAD, (size_t)env->width);
    int col = random_below(rng, gap), length = 1 + random_below(rng, env->longest);
    while (col + length + MIN_GAP <= env->width) {
        memset(tiles + col, lane->way > 0 ? TILE_RIGHT : TILE_LEFT, (size_t)length);
        col += length + gap + random_below(rng, gap);
        length = 1 + random_below(rng, env->longest);
    }
}

static inline void lay_board(Frogger* env) {
    unsigned int* rng = &env->rng;
    for (int row = 0; row < env->rows; row++) {
        if (row == 0 || is_bank(env, row)) {
            Lane none = {0, 0, 0};
            env->lane[row] = none;
            memset(env->board + row * env->width, row == 0 ? TILE_HOME : TILE_BANK,
                   (size_t)env->width);
        } else {
            lay_lane(env, row, rng);
        }
    }
}

// All lanes a tick further: those whose turn it is go round by one tile
static inline void drive(Frogger* env) {
    const size_t rest = (size_t)env->width - 1;
    for (int row = 0; row < env->rows; row++) {
        Lane* lane = &env->lane[row];
        if (lane->period == 0 || --lane->wait > 0) {
            continue;
        }
        unsigned char* tiles = env->board + row * env->width;
        lane->wait = lane->period;
        if (lane->way > 0) {
            unsigned char last = tiles[rest];
            memmove(tiles + 1, tiles, rest);
            tiles[0] = last;
        } else {
            unsigned char first = tiles[0];
            memmove(tiles, tiles + 1, rest);
            tiles[rest] = first;
        }
    }
}

static inline bool under_car(const Frogger* env) {
    unsigned char tile = env->board[env->row * env->width + env->col];
    return tile == TILE_LEFT || tile == TILE_RIGHT;
}

//-- Functions --------------------------------------------------------------------
void init(Frogger* env) {
    env->width = at_least(env->width, 1);
    env->lanes = at_least(env->lanes, 0);
    env->longest = at_least(env->longest, 1);
    env->slowest = at_least(env->slowest, 1);
    env->lives = at_least(env->lives, 1);
    env->goal_crossings = at_least(env->goal_crossings, 1);
    env->max_ticks = at_least(env->max_ticks, 1);
    env->rows = env->lanes + 3;
    env->board = (unsigned char*)calloc((size_t)env->rows * (size_t)env->width, 1);
    env->lane = (Lane*)calloc((size_t)env->rows, sizeof(Lane));
}

void c_close(Frogger* env) {
    free(env->board);
    free(env->lane);
}

// The next frog, at the start
static inline void send_frog(Frogger* env) {
    env->row = env->rows - 1;
    env->col = env->width / 2;
    env->best = env->row;
}

void c_reset(Frogger* env) {
    env->lives_left = env->lives;
    env->crossings = 0;
    env->hits = 0;
    env->tick = 0;
    env->episode_return = 0.0f;
    lay_board(env);
    send_frog(env);
    observe(env);
}

static inline void write_log(Frogger* env) {
    int frogs = env->crossings + env->hits;     // that came to an end, either way
    env->log.perf += (float)env->crossings / (float)env->goal_crossings;
    env->log.score += (float)env->crossings;
    env->log.care += frogs > 0 ? (float)env->crossings / (float)frogs : 0.0f;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
}

static inline void hop(Frogger* env, int action) {
    if (action == ACT_UP && env->row > 0) env->row -= 1;
    if (action == ACT_DOWN && env->row < env->rows - 1) env->row += 1;
    if (action == ACT_LEFT && env->col > 0) env->col -= 1;
    if (action == ACT_RIGHT && env->col < env->width - 1) env->col += 1;
}

// One tick: the frog hops, then the cars go on. It is hit if it hops under a car or a car
// comes over it, so the two never pass through each other
void c_step(Frogger* env) {
    hop(env, (int)env->actions[0]);
    bool hit = under_car(env);
    drive(env);
    hit = hit || under_car(env);
    env->tick += 1;

    float reward = 0.0f;
    if (hit) {
        reward += env->reward_hit;
        env->hits += 1;
        env->lives_left -= 1;
        send_frog(env);
    } else if (env->row < env->best) {
        reward += env->reward_row;
        env->best = env->row;
    }
    if (env->row == 0) {
        reward += env->reward_cross;
        env->crossings += 1;
        lay_board(env);
        send_frog(env);
    }
    env->episode_return += reward;

    // The clock is a part of the game, and the frog sees it: its end is no truncation
    bool late = env->tick >= env->max_ticks;
    bool over = late || env->lives_left == 0 || env->crossings >= env->goal_crossings;
    env->rewards[0] = reward;
    env->terminals[0] = over ? 1.0f : 0.0f;
    if (over) {
        write_log(env);
        c_reset(env);
    } else {
        observe(env);
    }
}

//-- Drawing ----------------------------------------------------------------------
#ifndef PUFFER_DEVICE
void c_render(Frogger* env) {
    const int tile = 40, hud = 44, width = tile * env->width, height = tile * env->rows;
    const Color paint[] = {{40, 44, 52, 255}, {70, 110, 60, 255}, {50, 120, 190, 255},
                           {235, 70, 80, 255}, {255, 190, 60, 255}};
    if (!IsWindowReady()) {
        InitWindow(width, hud + height, "frogger");
        SetTargetFPS(8);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    for (int row = 0; row < env->rows; row++) {
        for (int col = 0; col < env->width; col++) {
            DrawRectangle(col * tile, hud + row * tile + 1, tile, tile - 2,
                          paint[env->board[row * env->width + col]]);
        }
    }
    DrawCircle(env->col * tile + tile / 2, hud + env->row * tile + tile / 2, 0.4f * (float)tile,
               GREEN);
    DrawText(TextFormat("%d of %d across, %d lives", env->crossings, env->goal_crossings,
                        env->lives_left), 12, 12, 20, RAYWHITE);
    DrawRectangle(0, hud - 4, width * (env->max_ticks - env->tick) / env->max_ticks, 4, GREEN);
    EndDrawing();
}
#endif
