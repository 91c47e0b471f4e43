// Orchard: a commons dilemma. Six pickers share one orchard. An apple is worth 1 to whoever steps
// on it, but a tree only bears again while other trees close to it still carry fruit: who strips a
// grove bare has nothing for the rest of the season. Pickers can knock each other off their feet
// for a while, which costs the one who does it and protects a grove.
//
// One row of bytes per picker: a window of VIEW x VIEW tiles centred on it (north is always up, the
// codes are S_* below, its own tile shows what it stands on), then which way it faces (0..3), how
// many ticks it still lies on the ground (0..freeze) and the season's clock (10 = all of it is
// left, 0 = nearly over).
//
// Every season lasts `horizon` ticks for everybody, except the first one after c_reset: it has a
// random length, so that thousands of orchards do not all end on the same step.
#pragma once

#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "raylib.h"

#define RADIUS 4
#define VIEW (2 * RADIUS + 1)
#define ROW (VIEW * VIEW + 3)
#define MAX_PICKERS 16
#define ZAP_REACH 3
#define PAR 0.12f              // apples per picker and tick that count as perf 1

// what lies on a tile
#define GRASS 0
#define BARE 1
#define APPLE 2
#define SPROUT 3               // only while grow() runs

// what a picker sees of a tile
#define S_GRASS 0
#define S_BARE 1
#define S_APPLE 2
#define S_FENCE 3
#define S_PICKER 4
#define S_FALLEN 5

#define NOOP 0
#define NORTH 1
#define SOUTH 2
#define WEST 3
#define EAST 4
#define ZAP 5

static const int DX[4] = {0, 0, -1, 1};
static const int DY[4] = {-1, 1, 0, 0};

// Required struct. Only use floats!
typedef struct {
    float perf;                // harvest per picker and tick over PAR, at most 1
    float score;               // apples per picker
    float episode_return;      // mean over the pickers
    float episode_length;
    float fairness;            // 1 - Gini coefficient of the harvest
    float zaps;                // per picker
    float stock;               // share of the trees with an apple at the end
    float n;                   // Required as the last field
} Log;

typedef struct {
    int x, y;
    int facing;
    int frozen;                // ticks on the ground
    int apples;
    int zaps;
    float ret;
} Picker;

typedef struct {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    // settings
    int width;
    int height;
    int groves;
    int horizon;
    int freeze;
    float regrow;              // chance per tick for each apple nearby, three at most
    float spark;               // chance without any
    float zap_cost;

    unsigned char* ground;     // height x width
    signed char* who;          // height x width, index of the picker there or -1
    Picker pickers[MAX_PICKERS];
    int trees;
    int tick;
    int ticks_left;
} Orchard;

void init(Orchard* env) {
    env->ground = (unsigned char*)calloc(env->width * env->height, sizeof(unsigned char));
    env->who = (signed char*)calloc(env->width * env->height, sizeof(signed char));
}

void c_close(Orchard* env) {
    free(env->ground);
    free(env->who);
}

static float chance(Orchard* env) {
    return (float)(rand_r(&env->rng) % 1000003) / 1000003.0f;
}

static void compute_observations(Orchard* env) {
    for (int a = 0; a < env->num_agents; a++) {
        Picker* me = &env->pickers[a];
        unsigned char* obs = env->observations + a * ROW;
        int k = 0;
        for (int dy = -RADIUS; dy <= RADIUS; dy++) {
            for (int dx = -RADIUS; dx <= RADIUS; dx++) {
                int x = me->x + dx;
                int y = me->y + dy;
                if (x < 0 || x >= env->width || y < 0 || y >= env->height) {
                    obs[k++] = S_FENCE;
                    continue;
                }
                int other = env->who[y * env->width + x];
                if (other >= 0 && other != a) {
                    obs[k++] = env->pickers[other].frozen > 0 ? S_FALLEN : S_PICKER;
                } else {
                    obs[k++] = env->ground[y * env->width + x];
                }
            }
        }
        obs[k++] = (unsigned char)me->facing;
        obs[k++] = (unsigned char)me->frozen;
        obs[k++] = (unsigned char)(10 * env->ticks_left / env->horizon);
    }
}

// A new season: other groves, all trees full, everybody on a tile of their own
static void plant(Orchard* env) {
    int tiles = env->width * env->height;
    memset(env->ground, GRASS, tiles);
    memset(env->who, -1, tiles);
    env->tick = 0;
    env->trees = 0;

    for (int g = 0; g < env->groves; g++) {
        int cx = rand_r(&env->rng) % env->width;
        int cy = rand_r(&env->rng) % env->height;
        for (int y = cy - 2; y <= cy + 2; y++) {
            for (int x = cx - 2; x <= cx + 2; x++) {
                if (abs(x - cx) + abs(y - cy) > 2) continue;
                if (x < 0 || x >= env->width || y < 0 || y >= env->height) continue;
                if (env->ground[y * env->width + x] == APPLE) continue;
                env->ground[y * env->width + x] = APPLE;
                env->trees++;
            }
        }
    }

    for (int a = 0; a < env->num_agents; a++) {
        Picker* me = &env->pickers[a];
        memset(me, 0, sizeof(Picker));
        // from a random tile on, the next one that is free (whoever starts on an apple
        // has to come back for it)
        int tile = rand_r(&env->rng) % tiles;
        while (env->who[tile] >= 0) {
            tile = (tile + 1) % tiles;
        }
        env->who[tile] = (signed char)a;
        me->x = tile % env->width;
        me->y = tile / env->width;
        me->facing = rand_r(&env->rng) % 4;
    }
}

void c_reset(Orchard* env) {
    plant(env);
    env->ticks_left = 1 + rand_r(&env->rng) % env->horizon;
    compute_observations(env);
}

static int apples_near(Orchard* env, int cx, int cy) {
    int count = 0;
    for (int y = cy - 2; y <= cy + 2; y++) {
        for (int x = cx - 2; x <= cx + 2; x++) {
            if (x < 0 || x >= env->width || y < 0 || y >= env->height) continue;
            if (abs(x - cx) + abs(y - cy) > 2) continue;
            count += env->ground[y * env->width + x] == APPLE;
        }
    }
    return count;
}

// All trees at once: what ripens now does not help its neighbours before the next tick
static void grow(Orchard* env) {
    int tiles = env->width * env->height;
    for (int tile = 0; tile < tiles; tile++) {
        if (env->ground[tile] != BARE || env->who[tile] >= 0) continue;
        int near = apples_near(env, tile % env->width, tile / env->width);
        float p = env->spark + env->regrow * (near > 3 ? 3 : near);
        if (chance(env) < p) {
            env->ground[tile] = SPROUT;
        }
    }
    for (int tile = 0; tile < tiles; tile++) {
        if (env->ground[tile] == SPROUT) env->ground[tile] = APPLE;
    }
}

static void walk(Orchard* env, int a, int facing) {
    Picker* me = &env->pickers[a];
    me->facing = facing;
    int x = me->x + DX[facing];
    int y = me->y + DY[facing];
    if (x < 0 || x >= env->width || y < 0 || y >= env->height) return;
    int tile = y * env->width + x;
    if (env->who[tile] >= 0) return;
    env->who[me->y * env->width + me->x] = -1;
    env->who[tile] = (signed char)a;
    me->x = x;
    me->y = y;
    if (env->ground[tile] == APPLE) {
        env->ground[tile] = BARE;
        me->apples++;
        env->rewards[a] += 1.0f;
    }
}

// The first picker in the line of sight falls down
static void zap(Orchard* env, int a) {
    Picker* me = &env->pickers[a];
    me->zaps++;
    env->rewards[a] -= env->zap_cost;
    for (int d = 1; d <= ZAP_REACH; d++) {
        int x = me->x + d * DX[me->facing];
        int y = me->y + d * DY[me->facing];
        if (x < 0 || x >= env->width || y < 0 || y >= env->height) return;
        int other = env->who[y * env->width + x];
        if (other < 0) continue;
        if (env->pickers[other].frozen == 0) {
            env->pickers[other].frozen = env->freeze;
        }
        return;
    }
}

static void add_log(Orchard* env) {
    int n = env->num_agents;
    float apples = 0.0f, ret = 0.0f, zaps = 0.0f, spread = 0.0f;
    for (int a = 0; a < n; a++) {
        apples += env->pickers[a].apples;
        ret += env->pickers[a].ret;
        zaps += env->pickers[a].zaps;
        for (int b = 0; b < n; b++) {
            spread += abs(env->pickers[a].apples - env->pickers[b].apples);
        }
    }
    int full = 0;
    for (int tile = 0; tile < env->width * env->height; tile++) {
        full += env->ground[tile] == APPLE;
    }
    env->log.perf += fminf(1.0f, apples / (PAR * n * env->tick));
    env->log.score += apples / n;
    env->log.episode_return += ret / n;
    env->log.episode_length += env->tick;
    env->log.fairness += apples > 0.0f ? 1.0f - spread / (2.0f * n * apples) : 1.0f;
    env->log.zaps += zaps / n;
    env->log.stock += (float)full / env->trees;
    env->log.n += 1.0f;
}

void c_step(Orchard* env) {
    int n = env->num_agents;
    for (int a = 0; a < n; a++) {
        env->rewards[a] = 0.0f;
        env->terminals[a] = 0.0f;
    }

    // Somebody else goes first each tick, so that no seat has an advantage
    int first = env->tick % n;
    for (int i = 0; i < n; i++) {
        int a = (first + i) % n;
        Picker* me = &env->pickers[a];
        if (me->frozen > 0) {
            me->frozen--;
            continue;
        }
        int action = (int)env->actions[a];
        if (action >= NORTH && action <= EAST) {
            walk(env, a, action - NORTH);
        } else if (action == ZAP) {
            zap(env, a);
        }
    }
    grow(env);

    env->tick++;
    env->ticks_left--;
    for (int a = 0; a < n; a++) {
        env->pickers[a].ret += env->rewards[a];
    }

    if (env->ticks_left <= 0) {
        add_log(env);
        for (int a = 0; a < n; a++) {
            env->terminals[a] = 1.0f;
        }
        plant(env);
        env->ticks_left = env->horizon;
    }
    compute_observations(env);
}

void c_render(Orchard* env) {
    const int px = 36;
    if (!IsWindowReady()) {
        InitWindow(env->width * px, env->height * px + 30, "PufferLib Orchard");
        SetTargetFPS(10);
    }
    if (IsKeyDown(KEY_ESCAPE)) {
        exit(0);
    }

    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    for (int y = 0; y < env->height; y++) {
        for (int x = 0; x < env->width; x++) {
            int what = env->ground[y * env->width + x];
            if (what == GRASS) continue;
            DrawRectangle(x * px + 2, y * px + 2, px - 4, px - 4, DARKGREEN);
            if (what == APPLE) {
                DrawCircle(x * px + px / 2, y * px + px / 2, px / 5, RED);
            }
        }
    }
    for (int a = 0; a < env->num_agents; a++) {
        Picker* me = &env->pickers[a];
        int cx = me->x * px + px / 2;
        int cy = me->y * px + px / 2;
        DrawCircle(cx, cy, px / 3, me->frozen > 0 ? GRAY : SKYBLUE);
        DrawLine(cx, cy, cx + DX[me->facing] * px / 2, cy + DY[me->facing] * px / 2, RAYWHITE);
        DrawText(TextFormat("%d", me->apples), cx - 5, cy - 8, 16, BLACK);
    }
    DrawText(TextFormat("ticks left: %d", env->ticks_left), 8, env->height * px + 6, 18, RAYWHITE);
    EndDrawing();
}
