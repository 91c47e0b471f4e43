/* fences.h -- dots and boxes on a 3 x 3 field, one agent against a scripted neighbour.
 *
 *      o---o---o   o       On each turn a player draws one free fence between two posts. Who draws
 *      | A |   |           the fourth fence of a box owns the box, and must draw again. When all
 *      o---o   o---o       24 fences stand, the player with more of the nine boxes wins: there are
 *          |     B |       no draws.
 *      o   o---o---o
 *
 * The neighbour closes a box if it can, else draws a fence that gives no box away, else any. With
 * probability `blunder` it draws any fence at once. An episode begins with a few fences that
 * belong to nobody, and in every second one, by chance, with a fence of the neighbour.
 *
 * A tick is one fence of the agent, with all that the neighbour draws in answer: none, if the
 * agent closed a box and is to draw again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif

//-- Interface ----------------------------------------------------------------------
#define SIDE        3                           // boxes along one side
#define BOXES       (SIDE * SIDE)               // 9
#define HORIZONTALS (SIDE * (SIDE + 1))         // 12 level fences, the others are upright
#define FENCES      (2 * HORIZONTALS)           // 24

enum {                          // observations, one float each
    OBS_FENCES,                                 // [ 0, 1]  1 where a fence stands: level ones row
                                                //          by row, then upright ones row by row
    OBS_OWNERS = OBS_FENCES + FENCES,           // [-1, 1]  of each box: 1 mine, -1 theirs, 0 open
    OBS_SIDES = OBS_OWNERS + BOXES,             // [ 0, 1]  of each box: share of its 4 sides drawn
    OBS_MARGIN = OBS_SIDES + BOXES,             // [-1, 1]  my boxes less theirs, share of all
    OBS_LEFT,                                   // [ 0, 1]  share of the fences not drawn yet
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT      // 44

// Action k draws fence k, numbered as in the observation: 0 to 11 are level, top row first, three
// a row; 12 to 23 are upright, top row first, four a row. Legal: those not drawn. A player who
// asks for another one loses the turn
#define ACT_SIZES {FENCES}

//-- State --------------------------------------------------------------------------
enum { ME, NEIGHBOUR, PLAYERS };
enum { NO_FENCE = -1 };

typedef struct Log {
    float perf;                 // [0, 1]  share of games won
    float score;                // [-9, 9] my boxes less theirs
    float episode_return;
    float episode_length;       // ticks
    float n;                    // episodes, last
} Log;

typedef struct Fences {
    Log log;
    float* observations;        // out [OBS_SIZE]
    float* actions;             // in  [1]  a fence
    float* rewards;             // out [1]
    float* terminals;           // out [1]
    unsigned char* action_mask; // out [FENCES]  1 where no fence stands
    int num_agents;
    unsigned int rng;

    // Settings, from [env]
    int opening;                // fences that stand at the start
    float blunder;              // [0, 1]  how often the neighbour does not think
    float reward_box;           // for a box of mine; one of theirs costs as much
    float reward_win;           // for the game; losing it costs as much

    // The game: c_reset sets all of it
    bool drawn[FENCES];
    int owner[BOXES];           // 1 mine, -1 theirs, 0 open
    int boxes[PLAYERS];         // how many each has
    int left;                   // fences not drawn
    int tick;
    float episode_return;
} Fences;

// A number from 0 to below - 1: one step of a PCG generator, whose state is all in *rng
static inline int draw_number(unsigned int* rng, int below) {
    *rng = *rng * 747796405u + 2891336453u;
    unsigned int word = ((*rng >> ((*rng >> 28) + 4u)) ^ *rng) * 277803737u;
    word ^= word >> 22;
    return (int)(((uint64_t)word * (uint64_t)below) >> 32);
}

static inline bool chance(unsigned int* rng, float probability) {
    return (float)draw_number(rng, 1 << 20) < probability * (float)(1 << 20);
}

//-- The field ----------------------------------------------------------------------
static inline int level_fence(int row, int col) {       // row 0 to SIDE, col 0 to SIDE - 1
    return row * SIDE + col;
}

static inline int upright_fence(int row, int col) {     // row 0 to SIDE - 1, col 0 to SIDE
    return HORIZONTALS + row * (SIDE + 1) + col;
}

// The four fences around a box: above, below, left, right
static inline void fences_of(int box, int around[4]) {
    int row = box / SIDE, col = box % SIDE;
    around[0] = level_fence(row, col);
    around[1] = level_fence(row + 1, col);
    around[2] = upright_fence(row, col);
    around[3] = upright_fence(row, col + 1);
}

static inline int sides_drawn(const Fences* env, int box) {
    int around[4], count = 0;
    fences_of(box, around);
    for (int i = 0; i < 4; i++) {
        count += env->drawn[around[i]];
    }
    return count;
}

// Does a box with exactly `sides` sides drawn border on this fence?
static inline bool borders_on(const Fences* env, int fence, int sides) {
    for (int box = 0; box < BOXES; box++) {
        int around[4];
        fences_of(box, around);
        for (int i = 0; i < 4; i++) {
            if (around[i] == fence && sides_drawn(env, box) == sides) {
                return true;
            }
        }
    }
    return false;
}

// Draws a free fence, and returns how many boxes it closed: they are the player's
static inline int draw_fence(Fences* env, int fence, int player) {
    int closed = 0;
    env->drawn[fence] = true;
    env->left -= 1;
    for (int box = 0; box < BOXES; box++) {
        if (env->owner[box] == 0 && sides_drawn(env, box) == 4) {
            env->owner[box] = player == ME ? 1 : -1;
            env->boxes[player] += 1;
            closed += 1;
        }
    }
    return closed;
}

//-- The neighbour --------------------------------------------------------------------
enum { ANY, CLOSING, SAFE };    // all free fences; those that close a box; that leave none with 3

// One of the free fences of that kind, each as likely as the others, or NO_FENCE
static inline int pick(Fences* env, int kind) {
    unsigned int* rng = &env->rng;
    int found = NO_FENCE, seen = 0;
    for (int fence = 0; fence < FENCES; fence++) {
        bool fits = !env->drawn[fence];
        if (fits && kind == CLOSING) {
            fits = borders_on(env, fence, 3);
        } else if (fits && kind == SAFE) {
            fits = !borders_on(env, fence, 2) && !borders_on(env, fence, 3);
        }
        if (fits && draw_number(rng, ++seen) == 0) {
            found = fence;
        }
    }
    return found;
}

static inline int think(Fences* env) {
    if (chance(&env->rng, env->blunder)) {
        return pick(env, ANY);
    }
    int fence = pick(env, CLOSING);
    if (fence == NO_FENCE) {
        fence = pick(env, SAFE);
    }
    return fence == NO_FENCE ? pick(env, ANY) : fence;
}

// It goes on as long as it closes boxes
static inline void answer(Fences* env) {
    bool again = true;
    while (again && env->left > 0) {
        again = draw_fence(env, think(env), NEIGHBOUR) > 0;
    }
}

//-- What the agent is told -----------------------------------------------------------
static inline void observe(Fences* env) {
    float* obs = env->observations;
    for (int fence = 0; fence < FENCES; fence++) {
        obs[OBS_FENCES + fence] = env->drawn[fence] ? 1.0f : 0.0f;
    }
    for (int box = 0; box < BOXES; box++) {
        obs[OBS_OWNERS + box] = (float)env->owner[box];
        obs[OBS_SIDES + box] = (float)sides_drawn(env, box) / 4.0f;
    }
    obs[OBS_MARGIN] = (float)(env->boxes[ME] - env->boxes[NEIGHBOUR]) / BOXES;
    obs[OBS_LEFT] = (float)env->left / FENCES;
}

static inline void allow(Fences* env) {
    for (int fence = 0; fence < FENCES; fence++) {
        env->action_mask[fence] = !env->drawn[fence];
    }
}

//-- The two that matter ----------------------------------------------------------------
void c_close(Fences* env) {
    (void)env;                  // all is in the struct
}

void c_reset(Fences* env) {
    memset(env->drawn, 0, sizeof env->drawn);
    memset(env->owner, 0, sizeof env->owner);
    memset(env->boxes, 0, sizeof env->boxes);
    env->left = FENCES;
    env->tick = 0;
    env->episode_return = 0.0f;
    for (int i = 0; i < env->opening; i++) {
        int fence = pick(env, SAFE);
        if (fence == NO_FENCE) {
            break;              // never close a box, or offer one
        }
        draw_fence(env, fence, NEIGHBOUR);
    }
    if (chance(&env->rng, 0.5f)) {
        answer(env);
    }
    observe(env);
    allow(env);
}

void c_step(Fences* env) {
    int fence = (int)env->actions[0];
    int mine = env->boxes[ME], theirs = env->boxes[NEIGHBOUR];
    bool legal = fence >= 0 && fence < FENCES && !env->drawn[fence];
    bool again = legal && draw_fence(env, fence, ME) > 0;
    if (!again) {
        answer(env);
    }
    env->tick += 1;

    bool over = env->left == 0, won = env->boxes[ME] > env->boxes[NEIGHBOUR];
    int gained = env->boxes[ME] - mine, lost = env->boxes[NEIGHBOUR] - theirs;
    env->rewards[0] = env->reward_box * (float)(gained - lost);
    if (over) {
        env->rewards[0] += won ? env->reward_win : -env->reward_win;
    }
    env->terminals[0] = over ? 1.0f : 0.0f;
    env->episode_return += env->rewards[0];
    if (!over) {
        observe(env);
        allow(env);
        return;
    }

    env->log.perf += won ? 1.0f : 0.0f;
    env->log.score += (float)(env->boxes[ME] - env->boxes[NEIGHBOUR]);
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);               // its observation and its mask are what the agent sees next
}

//-- Drawing ------------------------------------------------------------------------------
#ifndef PUFFER_DEVICE
void c_render(Fences* env) {
    const int cell = 100, margin = 40;
    if (!IsWindowReady()) {
        InitWindow(SIDE * cell + 2 * margin, SIDE * cell + 2 * margin, "fences");
        SetTargetFPS(4);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    for (int box = 0; box < BOXES; box++) {
        Color color = env->owner[box] > 0 ? DARKGREEN : env->owner[box] < 0 ? MAROON : BLACK;
        DrawRectangle(margin + box % SIDE * cell, margin + box / SIDE * cell, cell, cell, color);
    }
    for (int fence = 0; fence < FENCES; fence++) {
        bool level = fence < HORIZONTALS;
        int width = level ? SIDE : SIDE + 1, place = level ? fence : fence - HORIZONTALS;
        DrawRectangle(margin + place % width * cell - 3, margin + place / width * cell - 3,
                      level ? cell : 6, level ? 6 : cell, env->drawn[fence] ? GOLD : DARKGRAY);
    }
    DrawText(TextFormat("%d : %d", env->boxes[ME], env->boxes[NEIGHBOUR]), 10, 8, 20, RAYWHITE);
    EndDrawing();
}
#endif
