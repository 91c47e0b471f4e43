/* couriers.h -- parcel couriers in a town of square blocks.
 *
 *   . . . . . . .      .  street, or a park where a block has none of its houses
 *   . # # . # # .      #  house
 *   . # # . # # .
 *   . . . o . . .      A parcel lies in the street. Whoever takes it up learns the door it is
 *   . # # . . . .      meant for, and hands it in at the door or on a tile beside it. The longer
 *   . # # . . . .      the way took, the less it pays.
 *   . . . . . . .
 *
 * Each courier has a shift of its own: it ends in glory with `quota` parcels handed in, or in
 * shame with an empty battery. Then this courier alone begins anew, somewhere else; the town,
 * the parcels in the street and the others go on.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define REACH 3
#define WINDOW (2 * REACH + 1)
#define LEVELS 15               // numbers beside the window: few levels, no louder than its ids

enum { TILE_STREET, TILE_HOUSE, TILE_COURIER, TILE_PARCEL, TILE_DOOR };

enum {
    OBS_WINDOW,                             // grid 7 x 7 of 5 ids
    OBS_BATTERY = WINDOW * WINDOW,          // [0, 15]
    OBS_LOADED,                             // 2 ids
    OBS_EAST,                               // [0, 14]  to the door, or to the nearest parcel; 7: here
    OBS_SOUTH,                              // [0, 14]
    OBS_DELAY,                              // [0, 15]  15: it will pay no less than this
    OBS_HANDED_IN,                          // [0, 15]  of the quota
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

enum { ACT_WAIT, ACT_NORTH, ACT_SOUTH, ACT_WEST, ACT_EAST, ACT_HAND, ACT_COUNT };
#define ACT_SIZES {ACT_COUNT}

#define BLOCK 3                 // a street, then two tiles of houses
#define WAIT_COST 1             // battery
#define MOVE_COST 2

#define PAY_TAKE 0.1f
#define PAY_PROMPT 1.0f         // handed in at once
#define PAY_LATE 0.4f           // handed in after `patience` ticks or more
#define PAY_QUOTA 1.0f
#define FINE_BUMP -0.02f        // into another courier
#define FINE_EMPTY -0.5f

typedef struct Log {
    float perf;                 // share of the quota
    float score;                // parcels handed in
    float episode_return;
    float episode_length;
    float stranded;             // 1 for a shift that ended with an empty battery
    float n;
} Log;

typedef struct Parcel { int x, y; } Parcel;

typedef struct Courier {
    int x, y;
    int door_x, door_y;         // puffer: private   written on the parcel, nobody else reads it
    int loaded;                 // 0 or 1
    int carried;                // ticks since it took its parcel
    int battery;
    int handed_in;
    int ticks;
    float earned;
} Courier;

typedef struct Couriers {
    Log log;
    unsigned char* observations;
    unsigned char* action_mask;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    // settings
    int size;
    int num_parcels;
    int parks;
    int quota;
    int capacity;
    int refill;
    int patience;

    unsigned char* town;        // size * size: 1 where a house stands
    Courier* staff;
    Parcel* parcels;
} Couriers;

static const int STEP_X[ACT_COUNT] = {0, 0, 0, -1, 1, 0};
static const int STEP_Y[ACT_COUNT] = {0, -1, 1, 0, 0, 0};

static int pick(Couriers* env, int count) {
    uint32_t z = env->rng += 0x6D2B79F5u;
    z = (z ^ (z >> 15)) * (z | 1u);
    z ^= z + (z ^ (z >> 7)) * (z | 61u);
    z ^= z >> 14;
    return (int)(((uint64_t)z * (uint64_t)count) >> 32);
}

static int at_most(int value, int top) { return value < top ? value : top; }

static int house(const Couriers* env, int x, int y) {
    if (x < 0 || y < 0 || x >= env->size || y >= env->size) return 1;
    return env->town[y * env->size + x];
}

static int courier_at(const Couriers* env, int x, int y) {
    for (int i = 0; i < env->num_agents; i++)
        if (env->staff[i].x == x && env->staff[i].y == y) return i;
    return -1;
}

static int parcel_at(const Couriers* env, int x, int y) {
    for (int i = 0; i < env->num_parcels; i++)
        if (env->parcels[i].x == x && env->parcels[i].y == y) return i;
    return -1;
}

static int walk(int ax, int ay, int bx, int by) { return abs(ax - bx) + abs(ay - by); }

// A tile without house, courier or parcel. init saw to it that there is one
static void vacant(Couriers* env, int* x, int* y) {
    int tx, ty;
    do {
        tx = pick(env, env->size);
        ty = pick(env, env->size);
    } while (house(env, tx, ty) || courier_at(env, tx, ty) >= 0 || parcel_at(env, tx, ty) >= 0);
    *x = tx;
    *y = ty;
}

static void hire(Couriers* env, Courier* c) {
    vacant(env, &c->x, &c->y);
    c->door_x = c->door_y = -1;
    c->loaded = 0;
    c->carried = 0;
    c->battery = env->capacity - pick(env, env->capacity / 4 + 1);
    c->handed_in = 0;
    c->ticks = 0;
    c->earned = 0.0f;
}

// Across half the town at least; from the centre, too, a corner is far enough
static void address(Couriers* env, Courier* c) {
    do {
        c->door_x = pick(env, env->size);
        c->door_y = pick(env, env->size);
    } while (house(env, c->door_x, c->door_y)
             || walk(c->x, c->y, c->door_x, c->door_y) < env->size / 2);
}

static int at_door(const Courier* c) {
    return c->loaded && abs(c->x - c->door_x) <= 1 && abs(c->y - c->door_y) <= 1;
}

static int hand_useful(const Couriers* env, const Courier* c) {
    return c->loaded ? at_door(c) : parcel_at(env, c->x, c->y) >= 0;
}

static unsigned char bearing(int delta) {
    return (unsigned char)(delta < -7 ? 0 : delta > 7 ? 14 : delta + 7);
}

static void see(const Couriers* env, int a) {
    const Courier* c = &env->staff[a];
    unsigned char* row = env->observations + a * OBS_SIZE;
    unsigned char* tile = row + OBS_WINDOW;
    for (int y = c->y - REACH; y <= c->y + REACH; y++) {
        for (int x = c->x - REACH; x <= c->x + REACH; x++) {
            int other = courier_at(env, x, y);
            *tile = TILE_STREET;
            if (house(env, x, y)) *tile = TILE_HOUSE;
            else if (c->loaded && x == c->door_x && y == c->door_y) *tile = TILE_DOOR;
            else if (other >= 0 && other != a) *tile = TILE_COURIER;
            else if (parcel_at(env, x, y) >= 0) *tile = TILE_PARCEL;
            tile++;
        }
    }

    int goal_x = c->door_x, goal_y = c->door_y;
    if (!c->loaded) {
        int best = -1, nearest = 0;
        for (int i = 0; i < env->num_parcels; i++) {
            int far = walk(c->x, c->y, env->parcels[i].x, env->parcels[i].y);
            if (best < 0 || far < nearest) { best = i; nearest = far; }
        }
        goal_x = env->parcels[best].x;
        goal_y = env->parcels[best].y;
    }
    row[OBS_BATTERY] = (unsigned char)(c->battery * LEVELS / env->capacity);
    row[OBS_LOADED] = (unsigned char)c->loaded;
    row[OBS_EAST] = bearing(goal_x - c->x);
    row[OBS_SOUTH] = bearing(goal_y - c->y);
    row[OBS_DELAY] = (unsigned char)at_most(c->carried * LEVELS / env->patience, LEVELS);
    row[OBS_HANDED_IN] = (unsigned char)(c->handed_in * LEVELS / env->quota);

    unsigned char* may = env->action_mask + a * ACT_COUNT;
    may[ACT_WAIT] = 1;
    for (int m = ACT_NORTH; m <= ACT_EAST; m++)
        may[m] = c->battery >= MOVE_COST && !house(env, c->x + STEP_X[m], c->y + STEP_Y[m]);
    may[ACT_HAND] = (unsigned char)hand_useful(env, c);
}

// What a courier does, and what it earns by it
static float work(Couriers* env, Courier* c, int action) {
    float pay = 0.0f;
    int cost = WAIT_COST;
    c->ticks++;
    c->carried += c->loaded;
    if (action >= ACT_NORTH && action <= ACT_EAST && c->battery >= MOVE_COST) {
        int x = c->x + STEP_X[action], y = c->y + STEP_Y[action];
        cost = MOVE_COST;
        if (courier_at(env, x, y) >= 0) {
            pay += FINE_BUMP;
        } else if (!house(env, x, y)) {
            c->x = x;
            c->y = y;
        }
    }
    c->battery -= cost;
    if (action != ACT_HAND || !hand_useful(env, c)) return pay;

    if (c->loaded) {
        float late = (float)at_most(c->carried, env->patience) / (float)env->patience;
        pay += PAY_PROMPT + (PAY_LATE - PAY_PROMPT) * late;
        c->handed_in++;
        c->battery = at_most(c->battery + env->refill, env->capacity);
        c->loaded = 0;
        c->carried = 0;
    } else {
        Parcel* parcel = &env->parcels[parcel_at(env, c->x, c->y)];
        pay += PAY_TAKE;
        address(env, c);
        c->loaded = 1;
        vacant(env, &parcel->x, &parcel->y);    // the next one, somewhere else
    }
    return pay;
}

void init(Couriers* env) {
    if (env->num_parcels < 1) env->num_parcels = 1;
    if (env->quota < 1) env->quota = 1;
    if (env->capacity < 8) env->capacity = 8;
    if (env->patience < 1) env->patience = 1;
    if (env->refill < 0) env->refill = 0;
    if (env->size < 2 * BLOCK + 1) env->size = 2 * BLOCK + 1;
    while (env->size * env->size / 4 < env->num_agents + env->num_parcels) env->size += BLOCK;
    env->town = calloc((size_t)(env->size * env->size), 1);
    env->staff = calloc((size_t)env->num_agents, sizeof(Courier));
    env->parcels = calloc((size_t)env->num_parcels, sizeof(Parcel));
}

void c_close(Couriers* env) {
    free(env->town);
    free(env->staff);
    free(env->parcels);
}

void c_reset(Couriers* env) {
    int side = env->size;
    memset(env->town, 0, (size_t)(side * side));
    for (int by = 0; by < side; by += BLOCK) {
        for (int bx = 0; bx < side; bx += BLOCK) {
            if (pick(env, 100) < env->parks) continue;
            for (int y = by + 1; y < by + BLOCK && y < side; y++)
                for (int x = bx + 1; x < bx + BLOCK && x < side; x++) env->town[y * side + x] = 1;
        }
    }
    for (int i = 0; i < env->num_parcels; i++) env->parcels[i] = (Parcel){-1, -1};
    for (int a = 0; a < env->num_agents; a++) env->staff[a].x = env->staff[a].y = -1;
    for (int i = 0; i < env->num_parcels; i++) vacant(env, &env->parcels[i].x, &env->parcels[i].y);
    for (int a = 0; a < env->num_agents; a++) hire(env, &env->staff[a]);
    for (int a = 0; a < env->num_agents; a++) see(env, a);
}

void c_step(Couriers* env) {
    for (int a = 0; a < env->num_agents; a++) {
        Courier* c = &env->staff[a];
        float pay = work(env, c, (int)env->actions[a]);
        int proud = c->handed_in >= env->quota;
        int empty = !proud && c->battery <= 0;
        if (proud) pay += PAY_QUOTA;
        if (empty) pay += FINE_EMPTY;
        c->earned += pay;
        env->rewards[a] = pay;
        env->terminals[a] = proud || empty ? 1.0f : 0.0f;
        if (!proud && !empty) continue;

        env->log.perf += (float)c->handed_in / (float)env->quota;
        env->log.score += (float)c->handed_in;
        env->log.episode_return += c->earned;
        env->log.episode_length += (float)c->ticks;
        env->log.stranded += (float)empty;
        env->log.n += 1.0f;
        hire(env, c);
    }
    // Only now has everybody moved, and every row is true
    for (int a = 0; a < env->num_agents; a++) see(env, a);
}

void c_render(Couriers* env) {
    const int px = 640 / env->size, side = px * env->size;
    const Color vans[6] = {RED, BLUE, GREEN, PURPLE, ORANGE, SKYBLUE};
    if (!IsWindowReady()) {
        InitWindow(side, side + 28, "couriers");
        SetTargetFPS(10);
    }
    BeginDrawing();
    ClearBackground((Color){44, 46, 50, 255});
    for (int y = 0; y < env->size; y++)
        for (int x = 0; x < env->size; x++)
            if (house(env, x, y)) DrawRectangle(x * px, y * px, px, px, (Color){96, 84, 78, 255});
    for (int i = 0; i < env->num_parcels; i++)
        DrawRectangle(env->parcels[i].x * px + px / 3, env->parcels[i].y * px + px / 3, px / 3,
                      px / 3, (Color){214, 170, 100, 255});
    for (int a = 0; a < env->num_agents; a++) {
        const Courier* c = &env->staff[a];
        DrawCircle(c->x * px + px / 2, c->y * px + px / 2, (float)px * 0.36f, vans[a % 6]);
        if (c->loaded)
            DrawRectangleLines(c->door_x * px + 2, c->door_y * px + 2, px - 4, px - 4, vans[a % 6]);
    }
    DrawText(TextFormat("%.0f parcels in %.0f shifts", env->log.score, env->log.n), 8, side + 5, 18,
             RAYWHITE);
    EndDrawing();
}
