/* forklift.h -- carry every pallet in the hall to the bay of its colour. One agent, six actions.
 *
 *      +---------------+
 *      | . . a . . . . |   a b c   pallets of three colours, one or more of each, or none
 *      | . # . # . # . |   A B C   the bays, one of each colour
 *      | . . . B . . A |   #       a pillar: nobody gets through
 *      | c # . # T . . |   T       the truck, empty or with one pallet
 *      | . . . . . . . |
 *      | . # . . . # b |   The hall is size x size cells, and every episode has another one. Pillars
 *      | C . . . . . . |   stand on odd rows and columns only, so that no cell is ever cut off.
 *      +---------------+
 *
 * The truck drives over pallets and bays. On a pallet, an empty fork lifts it; on the bay of its
 * colour, a loaded fork sets it down for good. It can be set down nowhere else.
 *
 * The game ends when all pallets are delivered. After max_ticks it is cut off, which is a
 * truncation: the agent sees no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>             // calloc, free
#include <string.h>             // memset, memcpy
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif

//-- Interface ----------------------------------------------------------------------
#define COLOURS 3

enum {                          // what a cell of the map says, each 0 or 1
    CH_PILLAR,                  // a pillar
    CH_BAY,                     // the bay of the first colour, the second, the third
    CH_PALLET = CH_BAY + COLOURS,       // a pallet that waits: the same
    CH_TRUCK = CH_PALLET + COLOURS,     // the truck
    CHANNELS
};

enum {                          // observations, one byte each
    OBS_LOAD,                   // [0, 1]  the pallet on the fork: first colour, second, third
    OBS_MAP = OBS_LOAD + COLOURS        // [0, 1]  image env->size x env->size x CHANNELS
};
#define OBS_SIZE (OBS_MAP + env->size * env->size * CHANNELS)   // 203 with 5 x 5 cells

enum {                          // actions, pick one
    ACT_WAIT,                   // do nothing
    ACT_UP,                     // drive to the next row above
    ACT_DOWN,                   // below
    ACT_LEFT,                   // to the next column on the left
    ACT_RIGHT,                  // on the right
    ACT_FORK,                   // lift or deliver what can be lifted or delivered here
    ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT}

//-- State --------------------------------------------------------------------------
typedef struct Log {
    float perf;                 // [0, 1]  share of the pallets delivered
    float score;                // pallets delivered
    float episode_return;
    float episode_length;       // ticks
    float n;                    // episodes, last
} Log;

typedef struct Forklift {
    Log log;
    unsigned char* observations;        // out [OBS_SIZE]
    float* actions;                     // in  [1]  an ACT_ value
    float* rewards;                     // out [1]
    float* terminals;                   // out [1]
    float* truncations;                 // out [1]  1 where max_ticks ended the episode
    unsigned char* final_observations;  // out [OBS_SIZE]  then: what was seen last
    int num_agents;
    unsigned int rng;

    // Settings, from [env]
    int size;                   // cells along one side, 3 or more
    int pallets;                // in an episode; init takes care that they find a place
    int max_ticks;
    float pillar_share;         // [0, 1]  of the places for pillars that have one
    float reward_lift;          // for each pallet lifted, which happens once
    float reward_deliver;       // for each pallet delivered
    float step_cost;            // each tick
    float bump_cost;            // each tick on which the action could not be done

    // From init to c_close, size * size elements each; c_reset fills them
    unsigned char* pillar;      // 1 where one stands
    unsigned char* bay;         // 0, or the colour from 1 on
    unsigned char* pallet;      // 0, or the colour from 1 on of the one that waits here
    int* order;                 // the free cells, shuffled

    // The rest of the game: c_reset sets all of it
    int x, y;                   // the truck: column and row
    int load;                   // 0, or the colour from 1 on
    int delivered;
    int tick;
    float episode_return;
} Forklift;

// A number from 0 to below - 1: one step of a PCG generator, whose state is all in *rng
static inline int draw_number(unsigned int* rng, int below) {
    *rng = *rng * 747796405u + 2891336453u;
    unsigned int word = ((*rng >> ((*rng >> 28) + 4u)) ^ *rng) * 277803737u;
    word ^= word >> 22;
    return (int)(((uint64_t)word * (uint64_t)below) >> 32);
}

static inline int cell_at(const Forklift* env, int x, int y) {
    return y * env->size + x;
}

//-- Memory -------------------------------------------------------------------------
void init(Forklift* env) {
    size_t cells = (size_t)(env->size * env->size);
    env->pillar = (unsigned char*)calloc(cells, sizeof(unsigned char));
    env->bay = (unsigned char*)calloc(cells, sizeof(unsigned char));
    env->pallet = (unsigned char*)calloc(cells, sizeof(unsigned char));
    env->order = (int*)calloc(cells, sizeof(int));
    // At most a quarter of the cells are pillars. So bays, truck and half the cells do fit in
    int most = env->size * env->size / 2;
    env->pallets = env->pallets < 1 ? 1 : env->pallets > most ? most : env->pallets;
}

void c_close(Forklift* env) {
    free(env->pillar);
    free(env->bay);
    free(env->pallet);
    free(env->order);
}

//-- What the agent is told -----------------------------------------------------------
static inline void observe(Forklift* env) {
    unsigned char* obs = env->observations;
    memset(obs, 0, (size_t)(OBS_SIZE));
    if (env->load > 0) {
        obs[OBS_LOAD + env->load - 1] = 1;
    }
    for (int cell = 0; cell < env->size * env->size; cell++) {
        unsigned char* here = obs + OBS_MAP + cell * CHANNELS;
        here[CH_PILLAR] = env->pillar[cell];
        if (env->bay[cell] > 0) {
            here[CH_BAY + env->bay[cell] - 1] = 1;
        }
        if (env->pallet[cell] > 0) {
            here[CH_PALLET + env->pallet[cell] - 1] = 1;
        }
    }
    int truck = cell_at(env, env->x, env->y);
    obs[OBS_MAP + truck * CHANNELS + CH_TRUCK] = 1;
}

//-- A new hall -----------------------------------------------------------------------
// Builds pillars, and puts all other cells into `order`, shuffled. Returns how many there are
static inline int build_pillars(Forklift* env, unsigned int* rng) {
    int count = 0;
    for (int y = 0; y < env->size; y++) {
        for (int x = 0; x < env->size; x++) {
            int cell = cell_at(env, x, y);
            float dice = (float)draw_number(rng, 1000) / 1000.0f;
            env->pillar[cell] = x % 2 == 1 && y % 2 == 1 && dice < env->pillar_share;
            if (!env->pillar[cell]) {
                env->order[count++] = cell;
            }
        }
    }
    for (int last = count - 1; last > 0; last--) {
        int other = draw_number(rng, last + 1), kept = env->order[last];
        env->order[last] = env->order[other];
        env->order[other] = kept;
    }
    return count;
}

// Everything stands on a cell of its own: bays, pallets, the truck
static inline void furnish(Forklift* env) {
    unsigned int* rng = &env->rng;
    size_t cells = (size_t)(env->size * env->size);
    memset(env->bay, 0, cells);
    memset(env->pallet, 0, cells);
    int next = build_pillars(env, rng);
    for (int colour = 1; colour <= COLOURS; colour++) {
        env->bay[env->order[--next]] = (unsigned char)colour;
    }
    for (int i = 0; i < env->pallets; i++) {
        env->pallet[env->order[--next]] = (unsigned char)(1 + draw_number(rng, COLOURS));
    }
    int truck = env->order[--next];
    env->x = truck % env->size;
    env->y = truck / env->size;
}

void c_reset(Forklift* env) {
    furnish(env);
    env->load = 0;
    env->delivered = 0;
    env->tick = 0;
    env->episode_return = 0.0f;
    observe(env);
}

//-- One tick -------------------------------------------------------------------------
static inline void drive(Forklift* env, int dx, int dy) {
    int x = env->x + dx, y = env->y + dy;
    bool inside = x >= 0 && x < env->size && y >= 0 && y < env->size;
    if (!inside || env->pillar[cell_at(env, x, y)]) {
        env->rewards[0] -= env->bump_cost;
        return;
    }
    env->x = x;
    env->y = y;
}

static inline void use_fork(Forklift* env) {
    int cell = cell_at(env, env->x, env->y);
    if (env->load == 0 && env->pallet[cell] > 0) {
        env->load = env->pallet[cell];
        env->pallet[cell] = 0;
        env->rewards[0] += env->reward_lift;
    } else if (env->load > 0 && env->bay[cell] == env->load) {
        env->load = 0;
        env->delivered += 1;
        env->rewards[0] += env->reward_deliver;
    } else {
        env->rewards[0] -= env->bump_cost;
    }
}

void c_step(Forklift* env) {
    int action = (int)env->actions[0];
    env->rewards[0] = 0.0f;
    if (action == ACT_FORK) {
        use_fork(env);
    } else {
        int dx = (action == ACT_RIGHT) - (action == ACT_LEFT);
        int dy = (action == ACT_DOWN) - (action == ACT_UP);
        drive(env, dx, dy);
    }
    env->rewards[0] -= env->step_cost;
    env->episode_return += env->rewards[0];
    env->tick += 1;

    bool done = env->delivered >= env->pallets;
    bool late = !done && env->tick >= env->max_ticks;
    env->terminals[0] = done || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    observe(env);
    if (!done && !late) {
        return;
    }
    if (late) {                 // what it would have gone on from, before the next hall hides it
        memcpy(env->final_observations, env->observations, (size_t)(OBS_SIZE));
    }

    env->log.perf += (float)env->delivered / (float)env->pallets;
    env->log.score += (float)env->delivered;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);
}

//-- Drawing --------------------------------------------------------------------------
#ifndef PUFFER_DEVICE
void c_render(Forklift* env) {
    const int cell = 56, top = 36;
    const Color colours[] = {BLACK, RED, SKYBLUE, GREEN};
    if (!IsWindowReady()) {
        InitWindow(env->size * cell, top + env->size * cell, "forklift");
        SetTargetFPS(10);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    for (int i = 0; i < env->size * env->size; i++) {
        int x = i % env->size * cell, y = top + i / env->size * cell;
        DrawRectangle(x + 1, y + 1, cell - 2, cell - 2, env->pillar[i] ? GRAY : DARKBROWN);
        if (env->bay[i] > 0) {
            DrawRectangleLines(x + 4, y + 4, cell - 8, cell - 8, colours[env->bay[i]]);
        }
        if (env->pallet[i] > 0) {
            DrawRectangle(x + 16, y + 16, cell - 32, cell - 32, colours[env->pallet[i]]);
        }
    }
    DrawRectangle(env->x * cell + 10, top + env->y * cell + 10, cell - 20, cell - 20, GOLD);
    DrawRectangle(env->x * cell + 20, top + env->y * cell + 20, 16, 16, colours[env->load]);
    DrawText(TextFormat("%d of %d", env->delivered, env->pallets), 8, 8, 20, RAYWHITE);
    EndDrawing();
}
#endif
