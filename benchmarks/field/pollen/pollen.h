/* pollen.h -- bees that fetch nectar for one hive, and wasps that hunt them.  Many agents.
 *
 *      . . * . . . . .        *   a flower with nectar; sipped at, it is a bud (,) for a while
 *      . b . . , . . .        b   a bee: flies one cell a tick, carries up to three drops
 *      . . . H . . w .        H   the hive: bees put their nectar down there, and are safe
 *      . . * . . b . .        w   a wasp: slower than a bee; what it catches is stung
 *
 * A cell holds one bee, but the hive holds any number. Who puts nectar down is paid for each
 * drop, and all the others get a small share. A stung bee's episode is over; a new bee hatches
 * in the hive on the same tick, in the same row. After `season` ticks the season ends: that is
 * a truncation for all bees, and a new meadow grows.
 */
#pragma once

#include <math.h>               // fminf
#include <stdbool.h>
#include <stdlib.h>             // calloc, free, abs
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif

#define VIEW 3                  // a bee sees so many cells in each direction
#define SIDE (2 * VIEW + 1)
#define CAPACITY 3              // drops that a bee carries at most

enum {                          // what a cell of the window may show
    ID_GRASS, ID_HEDGE, ID_FLOWER, ID_BUD, ID_HIVE,     // a hedge is all around the meadow
    ID_BEE, ID_WASP             // another bee
};

enum {                          // observations, one byte each
    OBS_WINDOW,                 // grid 7 x 7 of 7 ids
    OBS_LOAD = OBS_WINDOW + SIDE * SIDE,    // 4 ids   drops carried
    OBS_HIVE_X,                 // 3 ids   the hive is to the west, in this column, to the east
    OBS_HIVE_Y,                 // 3 ids   to the north, in this row, to the south
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

enum {                          // actions, pick one
    ACT_HOVER,                  // stay where it is
    ACT_NORTH, ACT_EAST, ACT_SOUTH, ACT_WEST,   // fly one cell; not into the hedge
    ACT_SIP,                    // take a drop from the flower here
    ACT_STORE,                  // put all drops down, in the hive
    ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT}

static const int DX[5] = {0, 0, 1, 0, -1};      // of the first five actions
static const int DY[5] = {0, -1, 0, 1, 0};

#define NO_FLOWER (-1)
#define WASP_SIGHT 3            // cells, counted along both axes

typedef struct Log {            // sums over finished episodes, one for each bee
    float perf;                 // [0, 1]  drops stored, share of `plenty`
    float score;                // drops stored
    float stung;                // share of bees that ended so
    float episode_return;
    float episode_length;
    float n;                    // last
} Log;

typedef struct Bee {
    int x, y;
    int load, stored, age;      // drops carried; drops and ticks of this episode
    float episode_return;
} Bee;

typedef struct Wasp { int x, y; } Wasp;

typedef struct Pollen {
    Log log;
    unsigned char* observations;        // out [bees][OBS_SIZE]
    float* actions;                     // in  [bees]
    float* rewards;                     // out [bees]
    float* terminals;                   // out [bees]
    float* truncations;                 // out [bees]  1 where the season ended it
    unsigned char* final_observations;  // out [bees][OBS_SIZE]  of truncated bees
    unsigned char* action_mask;         // out [bees][ACT_COUNT]  1 = legal
    int num_agents;                     // = bees
    unsigned int rng;

    // Settings, from [env]
    int bees, wasps;
    int size, flowers;          // fewer flowers than cells, by more than the hive
    int regrow, season;         // ticks until a bud is a flower; ticks of a season
    int wasp_pace;              // a wasp moves once in so many ticks
    int plenty;                 // drops that make perf 1
    float reward_sip, reward_store, reward_share, reward_sting;

    // Allocated by init, set by c_reset
    Bee* bee;                   // (bees)
    Wasp* wasp;                 // (wasps)
    int* field;                 // (size * size)  NO_FLOWER, 0 a flower, else ticks until it is one
    int hive_x, hive_y, tick;
} Pollen;

// One of 0 to count - 1
static inline int pick(Pollen* env, int count) {
    unsigned int s = (env->rng += 0x9E3779B9u);
    s = (s ^ (s >> 16)) * 0x7FEB352Du;
    s = (s ^ (s >> 15)) * 0x846CA68Bu;
    s ^= s >> 16;
    return (int)(s % (unsigned int)count);
}

static inline bool inside(const Pollen* env, int x, int y) {
    return x >= 0 && y >= 0 && x < env->size && y < env->size;
}

static inline bool in_hive(const Pollen* env, int x, int y) {
    return x == env->hive_x && y == env->hive_y;
}

// What the rules allow; that another bee is in the way does not count
static inline bool legal(const Pollen* env, int i, int action) {
    const Bee* bee = &env->bee[i];
    if (action == ACT_SIP) return env->field[bee->y * env->size + bee->x] == 0 && bee->load < CAPACITY;
    if (action == ACT_STORE) return in_hive(env, bee->x, bee->y) && bee->load > 0;
    return action >= ACT_HOVER && action <= ACT_WEST
        && inside(env, bee->x + DX[action], bee->y + DY[action]);
}

static inline unsigned char ground(const Pollen* env, int x, int y) {
    if (!inside(env, x, y)) return ID_HEDGE;
    if (in_hive(env, x, y)) return ID_HIVE;
    int state = env->field[y * env->size + x];
    return state == NO_FLOWER ? ID_GRASS : state == 0 ? ID_FLOWER : ID_BUD;
}

// Draws something at x, y into the window of a bee, if it is within it. The hive hides bees
static inline void draw(const Pollen* env, const Bee* eye, unsigned char* row, int x, int y,
                        unsigned char id) {
    int column = x - eye->x + VIEW, line = y - eye->y + VIEW;
    if (column >= 0 && column < SIDE && line >= 0 && line < SIDE && !in_hive(env, x, y))
        row[OBS_WINDOW + line * SIDE + column] = id;
}

static inline void observe(const Pollen* env, int i, unsigned char* row) {
    const Bee* bee = &env->bee[i];
    for (int cell = 0; cell < SIDE * SIDE; cell++) {
        int x = bee->x + cell % SIDE - VIEW, y = bee->y + cell / SIDE - VIEW;
        row[OBS_WINDOW + cell] = ground(env, x, y);
    }
    for (int j = 0; j < env->bees; j++) {
        if (j != i) draw(env, bee, row, env->bee[j].x, env->bee[j].y, ID_BEE);
    }
    for (int w = 0; w < env->wasps; w++) draw(env, bee, row, env->wasp[w].x, env->wasp[w].y, ID_WASP);
    row[OBS_LOAD] = (unsigned char)bee->load;
    row[OBS_HIVE_X] = env->hive_x < bee->x ? 0 : env->hive_x == bee->x ? 1 : 2;
    row[OBS_HIVE_Y] = env->hive_y < bee->y ? 0 : env->hive_y == bee->y ? 1 : 2;
}

static inline void observe_all(Pollen* env) {
    for (int i = 0; i < env->bees; i++) {
        observe(env, i, env->observations + i * OBS_SIZE);
        unsigned char* mask = env->action_mask + i * ACT_COUNT;
        for (int action = 0; action < ACT_COUNT; action++) mask[action] = legal(env, i, action);
    }
}

void init(Pollen* env) {
    env->num_agents = env->bees;
    env->bee = (Bee*)calloc((size_t)env->bees, sizeof(Bee));
    env->wasp = (Wasp*)calloc((size_t)env->wasps, sizeof(Wasp));
    env->field = (int*)calloc((size_t)(env->size * env->size), sizeof(int));
}

void c_close(Pollen* env) {
    free(env->bee);
    free(env->wasp);
    free(env->field);
}

// A new bee, in the hive: its episode begins
static inline void hatch(Pollen* env, int i) {
    Bee* bee = &env->bee[i];
    bee->x = env->hive_x;
    bee->y = env->hive_y;
    bee->load = 0;
    bee->stored = 0;
    bee->age = 0;
    bee->episode_return = 0.0f;
}

void c_reset(Pollen* env) {
    const int cells = env->size * env->size;
    env->tick = 0;
    env->hive_x = env->hive_y = env->size / 2;
    for (int cell = 0; cell < cells; cell++) env->field[cell] = NO_FLOWER;
    for (int planted = 0; planted < env->flowers;) {
        int cell = pick(env, cells);
        if (env->field[cell] == NO_FLOWER && !in_hive(env, cell % env->size, cell / env->size)) {
            env->field[cell] = 0;
            planted++;
        }
    }
    for (int w = 0; w < env->wasps; w++) {      // by the north or south hedge
        env->wasp[w].x = pick(env, env->size);
        env->wasp[w].y = pick(env, 2) * (env->size - 1);
    }
    for (int i = 0; i < env->bees; i++) hatch(env, i);
    observe_all(env);
}

static inline bool taken(const Pollen* env, int x, int y) {
    bool met = false;
    for (int i = 0; i < env->bees; i++) met |= env->bee[i].x == x && env->bee[i].y == y;
    return met && !in_hive(env, x, y);
}

static inline void act(Pollen* env, int i, int action) {
    Bee* bee = &env->bee[i];
    if (action == ACT_HOVER || !legal(env, i, action)) return;
    if (action == ACT_SIP) {
        bee->load += 1;
        env->field[bee->y * env->size + bee->x] = env->regrow;
        env->rewards[i] += env->reward_sip;
    } else if (action == ACT_STORE) {
        for (int j = 0; j < env->bees; j++) {
            env->rewards[j] += (float)bee->load * (j == i ? env->reward_store : env->reward_share);
        }
        bee->stored += bee->load;
        bee->load = 0;
    } else if (!taken(env, bee->x + DX[action], bee->y + DY[action])) {
        bee->x += DX[action];
        bee->y += DY[action];
    }
}

// Towards the nearest bee that it sees, or anywhere. Never into the hive
static inline void hunt(Pollen* env, Wasp* wasp) {
    int nearest = WASP_SIGHT + 1, dx = 0, dy = 0;
    for (int i = 0; i < env->bees; i++) {
        int x = env->bee[i].x - wasp->x, y = env->bee[i].y - wasp->y, away = abs(x) + abs(y);
        if (away >= nearest || in_hive(env, env->bee[i].x, env->bee[i].y)) continue;
        nearest = away, dx = x, dy = y;
    }
    int way = ACT_NORTH + pick(env, 4);
    if (nearest == 0) way = ACT_HOVER;
    else if (nearest <= WASP_SIGHT)
        way = abs(dx) > abs(dy) ? (dx > 0 ? ACT_EAST : ACT_WEST) : (dy > 0 ? ACT_SOUTH : ACT_NORTH);
    int x = wasp->x + DX[way], y = wasp->y + DY[way];
    if (inside(env, x, y) && !in_hive(env, x, y)) wasp->x = x, wasp->y = y;
}

static inline void record(Pollen* env, int i, bool stung) {
    const Bee* bee = &env->bee[i];
    env->log.perf += fminf((float)bee->stored / (float)env->plenty, 1.0f);
    env->log.score += (float)bee->stored;
    env->log.stung += (float)stung;
    env->log.episode_return += bee->episode_return;
    env->log.episode_length += (float)bee->age;
    env->log.n += 1.0f;
}

void c_step(Pollen* env) {
    for (int i = 0; i < env->bees; i++)
        env->rewards[i] = env->terminals[i] = env->truncations[i] = 0.0f;
    env->tick += 1;
    for (int cell = 0; cell < env->size * env->size; cell++) env->field[cell] -= env->field[cell] > 0;
    int first = pick(env, env->bees);           // nobody is always first at a flower
    for (int k = 0; k < env->bees; k++) {
        int i = (first + k) % env->bees;
        act(env, i, (int)env->actions[i]);
    }
    for (int w = 0; w < env->wasps; w++) {
        if (env->tick % env->wasp_pace == 0) hunt(env, &env->wasp[w]);
        for (int i = 0; i < env->bees; i++) {   // no wasp is in the hive
            bool met = env->bee[i].x == env->wasp[w].x && env->bee[i].y == env->wasp[w].y;
            if (met && env->terminals[i] == 0.0f) {
                env->rewards[i] += env->reward_sting;
                env->terminals[i] = 1.0f;
            }
        }
    }
    bool late = env->tick >= env->season;
    for (int i = 0; i < env->bees; i++) {
        env->bee[i].age += 1;
        env->bee[i].episode_return += env->rewards[i];
        if (env->terminals[i] == 1.0f) {
            record(env, i, true);
            hatch(env, i);
        } else if (late) {
            observe(env, i, env->final_observations + i * OBS_SIZE);
            env->terminals[i] = env->truncations[i] = 1.0f;
            record(env, i, false);
        }
    }
    late ? c_reset(env) : observe_all(env);
}

#ifndef PUFFER_DEVICE
void c_render(Pollen* env) {
    const int cell = 32, hud = 30, cells = env->size * env->size;
    const Color colors[] = {DARKGREEN, BLACK, PINK, GREEN, BROWN, GOLD, RED};
    if (!IsWindowReady()) {
        InitWindow(env->size * cell, hud + env->size * cell, "pollen");
        SetTargetFPS(10);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    for (int i = 0; i < cells; i++) {
        int x = i % env->size, y = i / env->size;
        DrawRectangle(x * cell, hud + y * cell, cell - 1, cell - 1, colors[ground(env, x, y)]);
    }
    for (int i = 0; i < env->bees; i++)
        DrawRectangle(env->bee[i].x * cell + 8, hud + env->bee[i].y * cell + 8, 16, 16, GOLD);
    for (int w = 0; w < env->wasps; w++)
        DrawRectangle(env->wasp[w].x * cell + 6, hud + env->wasp[w].y * cell + 6, 20, 20, RED);
    DrawText(TextFormat("tick %d of %d", env->tick, env->season), 8, 6, 20, RAYWHITE);
    EndDrawing();
}
#endif
