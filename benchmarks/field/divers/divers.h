/* divers.h -- divers raise chests together.  Six agents a copy, two continuous actions each.
 *
 *     ~~~~~~~~~~~~~~[ boat ]~~~~~~~~~~~    y = 0: fresh air within BOAT_REACH of the boat
 *            o          o                  o   a diver: air runs out, faster in the deep
 *       o                        o
 *             [#]                   [#]    #   a chest: `crew` divers must work on it at once
 *     _________________________________    y = 1
 *
 * A chest opens after WORK ticks with at least `crew` divers within `reach`, and is a reward for
 * every diver who is still in the water. A diver who runs out of air is pulled out and is gone for
 * the rest of the episode (alive 0), which costs him DROWN_REWARD, and each of the others
 * MOURN_REWARD. The episode ends when all chests are open, when no diver is left, or at dusk. Dusk
 * is seen coming (OBS_LIGHT), so it is an ending of the game and no truncation.
 */
#pragma once

#include <math.h>               // fminf, fmaxf, fabsf
#include <stdbool.h>
#include <stdlib.h>             // calloc, free
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif

#define DIVERS     6
#define CHESTS     8
#define CHEST_SIZE 4            // numbers that describe a chest
#define MATE_SIZE  4            // and another diver

//-- What a diver sees and does ---------------------------------------------------
enum {
    OBS_X,                      // [0, 1]   from the left
    OBS_Y,                      // [0, 1]   depth
    OBS_VX,                     // [-1, 1]  own speed, share of TOP_SPEED
    OBS_VY,                     // [-1, 1]
    OBS_AIR,                    // [0, 1]   share of a full bottle
    OBS_LIGHT,                  // [0, 1]   ticks left until dusk, share of all
    OBS_CURRENT,                // [-1, 1]  of the water, share of CURRENT_MAX
    OBS_BOAT,                   // [-1, 1]  x of the boat, from the diver
    OBS_CHESTS,                 // [-1, 1]  list 8 x 4, mask 0
                                // is it closed, dx, dy, work left; all 0 once it is open
    OBS_MATES = OBS_CHESTS + CHESTS * CHEST_SIZE,   // [-1, 1]  list 5 x 4, mask 0
                                // is he in the water, dx, dy, air; all 0 once he is gone
    OBS_COUNT = OBS_MATES + (DIVERS - 1) * MATE_SIZE
};
#define OBS_SIZE OBS_COUNT

enum { ACT_X, ACT_Y, ACT_HEADS };   // the speed that he swims for, right and down: in [-1, 1]
#define ACT_SIZES {1, 1}

//-- Rules that are no settings ---------------------------------------------------
#define TOP_SPEED    0.035f     // a tick; the water is 1 wide and 1 deep
#define INERTIA      0.7f       // share of the speed that is kept
#define CURRENT_MAX  0.008f
#define CURRENT_STEP 0.001f     // it changes by this much, at most, in a tick
#define BOAT_REACH   0.15f
#define SURFACE      0.06f      // not deeper than this to breathe at the boat
#define WORK         4          // ticks that a chest takes
#define CHEST_REWARD 0.3f       // to all in the water
#define DROWN_REWARD (-1.0f)    // to the one
#define MOURN_REWARD (-0.1f)    // to those who are left, for each one

//-- State ------------------------------------------------------------------------
typedef struct Log {
    float perf;                 // [0, 1]  chests opened, share of all
    float score;                // chests opened
    float episode_return;       // mean of the divers
    float episode_length;       // ticks
    float survivors;            // divers in the water at the end
    float n;                    // episodes, one a copy
} Log;

typedef struct Diver {
    float x, y, vx, vy, air;    // air in [0, 1]
} Diver;

typedef struct Chest {
    float x, y;
    int work;                   // ticks that are left; 0 = open
} Chest;

typedef struct Divers {
    Log log;
    float* observations;        // out [DIVERS][OBS_SIZE]
    float* actions;             // in  [DIVERS][ACT_HEADS]
    float* rewards;             // out [DIVERS]
    float* terminals;           // out [DIVERS]
    unsigned char* alive;       // out [DIVERS]  0 from his end until the next episode
    int num_agents;             // DIVERS
    unsigned int rng;

    // Settings
    int crew;                   // divers that a chest needs
    int dusk;                   // ticks
    int air_ticks;              // a full bottle, at half the depth
    float reach;                // how near to a chest he can work on it

    // The episode
    Chest* chests;              // (CHESTS)
    Diver* divers;              // (DIVERS)
    float boat_x, current;
    int tick, opened;
    float episode_return;       // summed over the divers
} Divers;

//-- Chance -----------------------------------------------------------------------
static inline float between(unsigned int* rng, float low, float high) {
    *rng = *rng * 747796405u + 2891336453u;
    unsigned int word = (*rng >> 15 ^ *rng) * 0x2c1b3c6du;
    word ^= word >> 12;
    return low + (high - low) * (float)(word >> 8) / 16777216.0f;
}

static inline float clamp(float value, float low, float high) {
    return fminf(fmaxf(value, low), high);
}

//-- What is shown: row i, all of it ----------------------------------------------
static inline void observe(Divers* env, int i) {
    const Diver* me = &env->divers[i];
    float* row = env->observations + i * OBS_SIZE;
    row[OBS_X] = clamp(me->x, 0.0f, 1.0f);
    row[OBS_Y] = clamp(me->y, 0.0f, 1.0f);
    row[OBS_VX] = clamp(me->vx / TOP_SPEED, -1.0f, 1.0f);
    row[OBS_VY] = clamp(me->vy / TOP_SPEED, -1.0f, 1.0f);
    row[OBS_AIR] = clamp(me->air, 0.0f, 1.0f);
    row[OBS_LIGHT] = clamp(1.0f - (float)env->tick / (float)env->dusk, 0.0f, 1.0f);
    row[OBS_CURRENT] = clamp(env->current / CURRENT_MAX, -1.0f, 1.0f);
    row[OBS_BOAT] = clamp(env->boat_x - me->x, -1.0f, 1.0f);
    for (int k = 0; k < CHESTS; k++) {
        const Chest* chest = &env->chests[k];
        float* slot = row + OBS_CHESTS + k * CHEST_SIZE;
        bool closed = chest->work > 0;
        slot[0] = closed ? 1.0f : 0.0f;
        slot[1] = closed ? clamp(chest->x - me->x, -1.0f, 1.0f) : 0.0f;
        slot[2] = closed ? clamp(chest->y - me->y, -1.0f, 1.0f) : 0.0f;
        slot[3] = closed ? (float)chest->work / WORK : 0.0f;
    }
    float* slot = row + OBS_MATES;
    for (int j = 0; j < DIVERS; j++) {
        const Diver* mate = &env->divers[j];
        bool there = env->alive[j] != 0;
        if (j == i) {
            continue;
        }
        slot[0] = there ? 1.0f : 0.0f;
        slot[1] = there ? clamp(mate->x - me->x, -1.0f, 1.0f) : 0.0f;
        slot[2] = there ? clamp(mate->y - me->y, -1.0f, 1.0f) : 0.0f;
        slot[3] = there ? clamp(mate->air, 0.0f, 1.0f) : 0.0f;
        slot += MATE_SIZE;
    }
}

//-- The parts of a tick ----------------------------------------------------------
static inline void swim(Divers* env, int i) {
    Diver* me = &env->divers[i];
    float to_x = clamp(env->actions[i * ACT_HEADS + ACT_X], -1.0f, 1.0f) * TOP_SPEED;
    float to_y = clamp(env->actions[i * ACT_HEADS + ACT_Y], -1.0f, 1.0f) * TOP_SPEED;
    me->vx = INERTIA * me->vx + (1.0f - INERTIA) * to_x;
    me->vy = INERTIA * me->vy + (1.0f - INERTIA) * to_y;
    me->x = clamp(me->x + me->vx + env->current, 0.0f, 1.0f);
    me->y = clamp(me->y + me->vy, 0.0f, 1.0f);
    me->air -= (0.5f + me->y) / (float)env->air_ticks;
    if (me->y <= SURFACE && fabsf(me->x - env->boat_x) <= BOAT_REACH) {
        me->air = 1.0f;
    }
}

static inline void work_on(Divers* env, Chest* chest) {
    int hands = 0;
    for (int i = 0; i < DIVERS; i++) {
        float dx = env->divers[i].x - chest->x, dy = env->divers[i].y - chest->y;
        hands += env->alive[i] && dx * dx + dy * dy <= env->reach * env->reach;
    }
    if (chest->work == 0 || hands < env->crew) {
        return;
    }
    chest->work -= 1;
    if (chest->work == 0) {
        env->opened += 1;
        for (int i = 0; i < DIVERS; i++) {
            env->rewards[i] += env->alive[i] ? CHEST_REWARD : 0.0f;
        }
    }
}

static inline void pull_out(Divers* env, int i) {
    env->rewards[i] += DROWN_REWARD;
    env->terminals[i] = 1.0f;
    env->alive[i] = 0;
    for (int j = 0; j < DIVERS; j++) {
        env->rewards[j] += env->alive[j] ? MOURN_REWARD : 0.0f;
    }
}

//-- init, c_close, c_reset, c_step -----------------------------------------------
void init(Divers* env) {
    env->num_agents = DIVERS;
    env->chests = (Chest*)calloc(CHESTS, sizeof(Chest));
    env->divers = (Diver*)calloc(DIVERS, sizeof(Diver));
}

void c_close(Divers* env) {
    free(env->chests);
    free(env->divers);
}

void c_reset(Divers* env) {
    env->tick = 0;
    env->opened = 0;
    env->episode_return = 0.0f;
    env->boat_x = between(&env->rng, 0.25f, 0.75f);
    env->current = between(&env->rng, -0.5f, 0.5f) * CURRENT_MAX;
    for (int k = 0; k < CHESTS; k++) {
        float x = between(&env->rng, 0.05f, 0.95f), y = between(&env->rng, 0.2f, 0.95f);
        env->chests[k] = (Chest){x, y, WORK};
    }
    for (int i = 0; i < DIVERS; i++) {
        float x = env->boat_x + between(&env->rng, -0.25f, 0.25f);
        env->divers[i] = (Diver){x, between(&env->rng, 0.0f, 0.3f), 0.0f, 0.0f, 1.0f};
        env->alive[i] = 1;
    }
    for (int i = 0; i < DIVERS; i++) {      // not before all are in the water
        observe(env, i);
    }
}

void c_step(Divers* env) {
    int left = 0;
    float change = between(&env->rng, -CURRENT_STEP, CURRENT_STEP);
    env->current = clamp(env->current + change, -CURRENT_MAX, CURRENT_MAX);
    env->tick += 1;
    for (int i = 0; i < DIVERS; i++) {
        env->rewards[i] = env->terminals[i] = 0.0f;
        if (env->alive[i]) swim(env, i);
    }
    for (int k = 0; k < CHESTS; k++) work_on(env, &env->chests[k]);
    for (int i = 0; i < DIVERS; i++) {
        if (env->alive[i] && env->divers[i].air <= 0.0f) pull_out(env, i);
    }
    for (int i = 0; i < DIVERS; i++) {
        left += env->alive[i];
        env->episode_return += env->rewards[i];
    }
    if (left > 0 && env->opened < CHESTS && env->tick < env->dusk) {
        for (int i = 0; i < DIVERS; i++) {
            if (env->alive[i]) observe(env, i);
        }
        return;
    }
    for (int i = 0; i < DIVERS; i++) {
        if (env->alive[i]) env->terminals[i] = 1.0f;
    }
    env->log.perf += (float)env->opened / (float)CHESTS;
    env->log.score += (float)env->opened;
    env->log.episode_return += env->episode_return / DIVERS;
    env->log.episode_length += (float)env->tick;
    env->log.survivors += (float)left;
    env->log.n += 1.0f;
    c_reset(env);
}

#ifndef PUFFER_DEVICE           // drawing reads the state and changes nothing
void c_render(Divers* env) {
    if (!IsWindowReady()) {
        InitWindow(500, 500, "divers");
        SetTargetFPS(20);
    }
    BeginDrawing();
    ClearBackground(DARKBLUE);
    DrawRectangle((int)(500.0f * (env->boat_x - BOAT_REACH)), 0, (int)(1000.0f * BOAT_REACH), 8,
                  BROWN);
    for (int k = 0; k < CHESTS; k++) {
        Chest c = env->chests[k];
        if (c.work > 0) DrawRectangle((int)(500 * c.x) - 8, (int)(500 * c.y) - 6, 16, 12, GOLD);
    }
    for (int i = 0; i < DIVERS; i++) {
        Diver d = env->divers[i];
        if (env->alive[i]) DrawRectangle((int)(500 * d.x) - 4, (int)(500 * d.y) - 4, 8, 8, ORANGE);
    }
    DrawText(TextFormat("%d of %d chests", env->opened, CHESTS), 10, 474, 20, RAYWHITE);
    EndDrawing();
}
#endif
