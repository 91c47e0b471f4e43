// Truffles: two pigs look for truffles in a foggy wood. A pig sees the tiles next to it and smells
// on each of them how many truffles are buried within two steps of it. It remembers what it saw,
// also where that has changed since. Digging up a truffle pays, and annoys the other pig. Digging
// is hard work: a pig that is tired has to wait.
//
// A row of bytes per pig: the wood as it remembers it (T_* below, 0 for what it never saw), its
// own place (x, y), the other pig's place from here if that is near (1..7, 4 is the own column or
// row; 0, 0 if it is not), its stamina, the truffles that are left and the clock (10 to 0).
//
// A hunt is over for both pigs when all truffles are found or the farmer comes, after `horizon`
// ticks. After c_reset he comes at a random time, so that not all woods end on the same step.
#pragma once

#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define PIGS 2
#define SIDE 8
#define TILES (SIDE * SIDE)
#define ROW (TILES + 7)
#define SIGHT 1                // tiles
#define EARSHOT 3              // tiles, to notice the other pig
#define NOSE 2                 // steps
#define STRONGEST 3            // more truffles than that smell the same

// what a pig remembers of a tile
#define T_UNKNOWN 0
#define T_TREE 1
#define T_HOLE 2
#define T_SCENT 3              // plus 0 to STRONGEST

// what is there
#define GROUND 0
#define TREE 1
#define HOLE 2

#define WAIT 0                 // 1 to 4: north, south, west, east
#define DIG 5

static const int DX[4] = {0, 0, -1, 1};
static const int DY[4] = {-1, 1, 0, 0};

// Required struct. Only use floats!
typedef struct {
    float perf;                // share of the truffles that were found
    float score;               // truffles found by both
    float episode_return;      // mean of the two
    float episode_length;
    float empty_holes;         // both
    float lead;                // truffles that one pig found more than the other
    float n;                   // Required as the last field
} Log;

typedef struct {
    unsigned char memory[TILES];       // puffer: private   what it saw itself
    int x, y;
    int stamina;
    int found;
    int empty_holes;
    float ret;
} Pig;

typedef struct {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    // settings
    int truffles;
    int trees;
    int horizon;
    int stamina;
    int dig_effort;
    float dig_cost;
    float envy;

    unsigned char buried[TILES];       // 1 where a truffle is
    unsigned char wood[TILES];
    Pig pigs[PIGS];
    int left;                          // truffles
    int tick;
    int ticks_left;
} Truffles;

void init(Truffles* env) {
    if (env->truffles < 1) env->truffles = 1;
    if (env->truffles > 20) env->truffles = 20;
    if (env->trees < 0) env->trees = 0;
    if (env->trees > 40) env->trees = 40;
    if (env->horizon < 1) env->horizon = 1;
    if (env->stamina < 2) env->stamina = 2;
    if (env->stamina > 255) env->stamina = 255;
    if (env->dig_effort < 0) env->dig_effort = 0;
    if (env->dig_effort > env->stamina) env->dig_effort = env->stamina;
}

void c_close(Truffles* env) {
}

// From a random tile on, the next one without a tree and a truffle
static int free_tile(Truffles* env) {
    int tile = rand_r(&env->rng) % TILES;
    while (env->wood[tile] != GROUND || env->buried[tile]) {
        tile = (tile + 1) % TILES;
    }
    return tile;
}

static int scent(Truffles* env, int cx, int cy) {
    int count = 0;
    for (int y = cy - NOSE; y <= cy + NOSE; y++) {
        for (int x = cx - NOSE; x <= cx + NOSE; x++) {
            if (x < 0 || x >= SIDE || y < 0 || y >= SIDE) continue;
            if (abs(x - cx) + abs(y - cy) > NOSE) continue;
            count += env->buried[y * SIDE + x];
        }
    }
    return count < STRONGEST ? count : STRONGEST;
}

static void look(Truffles* env, Pig* me) {
    for (int y = me->y - SIGHT; y <= me->y + SIGHT; y++) {
        for (int x = me->x - SIGHT; x <= me->x + SIGHT; x++) {
            if (x < 0 || x >= SIDE || y < 0 || y >= SIDE) continue;
            int tile = y * SIDE + x;
            if (env->wood[tile] == TREE) {
                me->memory[tile] = T_TREE;
            } else if (env->wood[tile] == HOLE) {
                me->memory[tile] = T_HOLE;
            } else {
                me->memory[tile] = (unsigned char)(T_SCENT + scent(env, x, y));
            }
        }
    }
}

static void compute_observations(Truffles* env) {
    for (int a = 0; a < PIGS; a++) {
        Pig* me = &env->pigs[a];
        Pig* other = &env->pigs[1 - a];
        look(env, me);
        unsigned char* obs = env->observations + a * ROW;
        memcpy(obs, me->memory, TILES);
        int dx = other->x - me->x;
        int dy = other->y - me->y;
        int near = abs(dx) <= EARSHOT && abs(dy) <= EARSHOT;
        obs[TILES] = (unsigned char)me->x;
        obs[TILES + 1] = (unsigned char)me->y;
        obs[TILES + 2] = near ? (unsigned char)(dx + EARSHOT + 1) : 0;
        obs[TILES + 3] = near ? (unsigned char)(dy + EARSHOT + 1) : 0;
        obs[TILES + 4] = (unsigned char)me->stamina;
        obs[TILES + 5] = (unsigned char)env->left;
        obs[TILES + 6] = (unsigned char)(10 * env->ticks_left / env->horizon);
    }
}

// A new hunt: another wood, and two pigs that know nothing of it
static void grow(Truffles* env) {
    memset(env->wood, GROUND, sizeof(env->wood));
    memset(env->buried, 0, sizeof(env->buried));
    int trees = env->trees * TILES / 100;
    for (int i = 0; i < trees; i++) {
        env->wood[free_tile(env)] = TREE;
    }
    for (int i = 0; i < env->truffles; i++) {
        env->buried[free_tile(env)] = 1;
    }
    for (int a = 0; a < PIGS; a++) {
        Pig* me = &env->pigs[a];
        int tile = free_tile(env);
        memset(me->memory, T_UNKNOWN, TILES);
        me->x = tile % SIDE;
        me->y = tile / SIDE;
        me->stamina = env->stamina;
        me->found = 0;
        me->empty_holes = 0;
        me->ret = 0.0f;
    }
    env->left = env->truffles;
    env->tick = 0;
}

void c_reset(Truffles* env) {
    grow(env);
    env->ticks_left = 1 + rand_r(&env->rng) % env->horizon;
    compute_observations(env);
}

static void walk(Truffles* env, int a, int direction) {
    Pig* me = &env->pigs[a];
    int x = me->x + DX[direction];
    int y = me->y + DY[direction];
    if (me->stamina < 1) return;
    if (x < 0 || x >= SIDE || y < 0 || y >= SIDE) return;
    if (env->wood[y * SIDE + x] == TREE) return;
    me->stamina--;
    me->x = x;
    me->y = y;
}

static void dig(Truffles* env, int a) {
    Pig* me = &env->pigs[a];
    int tile = me->y * SIDE + me->x;
    if (me->stamina < env->dig_effort) return;
    me->stamina -= env->dig_effort;
    env->wood[tile] = HOLE;
    if (env->buried[tile]) {
        env->buried[tile] = 0;
        env->left--;
        me->found++;
        env->rewards[a] += 1.0f;
        env->rewards[1 - a] -= env->envy;
    } else {
        me->empty_holes++;
        env->rewards[a] -= env->dig_cost;
    }
}

static void add_log(Truffles* env) {
    Pig* pigs = env->pigs;
    int found = pigs[0].found + pigs[1].found;
    env->log.perf += (float)found / env->truffles;
    env->log.score += found;
    env->log.episode_return += 0.5f * (pigs[0].ret + pigs[1].ret);
    env->log.episode_length += env->tick;
    env->log.empty_holes += pigs[0].empty_holes + pigs[1].empty_holes;
    env->log.lead += abs(pigs[0].found - pigs[1].found);
    env->log.n += 1.0f;
}

void c_step(Truffles* env) {
    for (int a = 0; a < PIGS; a++) {
        env->rewards[a] = 0.0f;
        env->terminals[a] = 0.0f;
    }

    // They take turns in going first
    int first = env->tick % PIGS;
    for (int i = 0; i < PIGS; i++) {
        int a = (first + i) % PIGS;
        int action = (int)env->actions[a];
        if (action == DIG) {
            dig(env, a);
        } else if (action == WAIT) {
            Pig* me = &env->pigs[a];
            me->stamina += 2;
            if (me->stamina > env->stamina) me->stamina = env->stamina;
        } else {
            walk(env, a, action - 1);
        }
    }
    env->tick++;
    env->ticks_left--;
    for (int a = 0; a < PIGS; a++) {
        env->pigs[a].ret += env->rewards[a];
    }

    if (env->left == 0 || env->ticks_left <= 0) {
        add_log(env);
        for (int a = 0; a < PIGS; a++) {
            env->terminals[a] = 1.0f;
        }
        grow(env);
        env->ticks_left = env->horizon;
    }
    compute_observations(env);
}

void c_render(Truffles* env) {
    const int px = 64;
    if (!IsWindowReady()) {
        InitWindow(SIDE * px, SIDE * px + 30, "PufferLib Truffles");
        SetTargetFPS(8);
    }
    if (IsKeyDown(KEY_ESCAPE)) exit(0);

    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    for (int tile = 0; tile < TILES; tile++) {
        int x = tile % SIDE * px;
        int y = tile / SIDE * px;
        int known = env->pigs[0].memory[tile] || env->pigs[1].memory[tile];
        DrawRectangle(x + 1, y + 1, px - 2, px - 2, known ? DARKBROWN : DARKGRAY);
        if (env->wood[tile] == TREE) DrawCircle(x + px / 2, y + px / 2, px / 3, DARKGREEN);
        if (env->wood[tile] == HOLE) DrawCircle(x + px / 2, y + px / 2, px / 4, BLACK);
        if (env->buried[tile]) DrawCircle(x + px / 2, y + px / 2, px / 8, GOLD);
    }
    for (int a = 0; a < PIGS; a++) {
        Pig* me = &env->pigs[a];
        DrawCircle(me->x * px + (1 + a) * px / 3, me->y * px + px / 2, px / 5, a ? SKYBLUE : PINK);
    }
    DrawText(TextFormat("truffles: %d  farmer in %d", env->left, env->ticks_left),
        8, SIDE * px + 6, 18, RAYWHITE);
    EndDrawing();
}
