// cavemap: a treasure hunter is let down into a cave that nobody has mapped.
//
// What has once been in the light goes on the map, and the map is all that is seen. The lamp
// burns oil, a flare burns more and shows more; flasks of oil lie about. In the dark only the
// next tiles are felt, and nerves last for a while. After max_ticks the rope is pulled up.
//
//   +1 a treasure, +0.01 a tile put on the map, -1 for losing one's nerve in the dark
//   ends: all treasures found (won), nerve lost (lost), rope pulled up (truncated)
#pragma once

#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
#include "raylib.h"

// ---------------------------------------------------------------- what is seen, what is done
enum {                  // a tile; the map shows these
    UNKNOWN, ROCK, FLOOR, RUBBLE, GEM, FLASK, HERO
};

#define LEVELS 16
#define FLARE_TICKS 3

enum {
    OBS_OIL,            // 16 ids   full is 15
    OBS_CLOCK,          // 16 ids   ticks gone by
    OBS_DREAD,          // 16 ids   ticks in the dark
    OBS_FLARE,          // 4 ids    ticks that the flare still burns
    OBS_MAP             // grid env->height x env->width of 7 ids
};
#define OBS_SIZE (OBS_MAP + env->width * env->height)

enum { REST, NORTH, EAST, SOUTH, WEST, LIGHT_FLARE, NUM_MOVES };
#define ACT_SIZES {NUM_MOVES}

// ---------------------------------------------------------------- numbers of the game
#define SIGHT_FEEL   1
#define SIGHT_LAMP   2
#define SIGHT_FLARE  5
#define OIL_FLARE    5      // more than the one of every tick
#define OIL_DIG      2      // the same, for a heap of rubble
#define NERVE        24     // ticks in the dark that one can bear
#define OPEN_SHARE   45     // percent of the tiles that are no rock
#define PAY_GEM      1.0f
#define PAY_TILE     0.01f
#define PAY_LOST    -1.0f

typedef struct Log {
    float perf;             // treasures found / treasures there
    float score;            // treasures found
    float episode_return;
    float episode_length;
    float mapped;           // share of the map that was filled in
    float n;
} Log;

typedef struct Cavemap {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    unsigned char* final_observations;
    int num_agents;
    unsigned int rng;

    int width, height;
    int treasures, flasks, rubble, apart;
    int lamp, flask_oil;
    int max_ticks;

    unsigned char* cave;    // [height * width]  what is there
    unsigned char* map;     // [height * width]  what has been seen of it
    int* spots;             // [height * width]  free tiles, while a cave is furnished
    int x, y;
    int oil;
    int dark;               // ticks since the lamp went out
    int flare;
    int tick;
    int hidden, found;      // treasures
    int mapped;             // tiles on the map
    float sum;              // rewards of this episode
} Cavemap;

static int draw(Cavemap* env, int count) {      // 0 .. count - 1
    unsigned int s = env->rng + 0x6D2B79F5u;
    env->rng = s;
    s = (s ^ (s >> 15)) * (s | 1u);
    s ^= s + (s ^ (s >> 7)) * (s | 61u);
    s ^= s >> 14;
    return (int)(((unsigned long long)s * (unsigned long long)count) >> 32);
}

static bool inside(const Cavemap* env, int x, int y) {
    return x >= 0 && y >= 0 && x < env->width && y < env->height;
}

static int at(const Cavemap* env, int x, int y) {
    return y * env->width + x;
}

static void heading(int move, int* dx, int* dy) {
    *dx = move == EAST ? 1 : move == WEST ? -1 : 0;
    *dy = move == SOUTH ? 1 : move == NORTH ? -1 : 0;
}

// ---------------------------------------------------------------- making a cave
// A digger staggers about from the hero's tile until enough is open, or he is tired
static int dig_out(Cavemap* env) {
    int area = env->width * env->height;
    memset(env->cave, ROCK, (size_t)area);
    int x = env->x, y = env->y, open = 1;
    env->cave[at(env, x, y)] = FLOOR;
    for (int i = 0; i < 60 * area && open * 100 < area * OPEN_SHARE; i++) {
        int dx, dy;
        heading(NORTH + draw(env, 4), &dx, &dy);
        if (!inside(env, x + dx, y + dy)) continue;
        x += dx;
        y += dy;
        if (env->cave[at(env, x, y)] == ROCK) {
            env->cave[at(env, x, y)] = FLOOR;
            open++;
        }
    }
    return open;
}

static int walk_length(const Cavemap* env, int tile) {
    return abs(tile % env->width - env->x) + abs(tile / env->width - env->y);
}

// Lays `count` things on free tiles, each taken off the list; returns how many had room
static int lay(Cavemap* env, int* spots_left, int thing, int count, int apart) {
    int laid = 0;
    while (laid < count && *spots_left > 0) {
        int pick = draw(env, *spots_left);
        for (int tries = 0; tries < 30 && walk_length(env, env->spots[pick]) < apart; tries++) {
            pick = draw(env, *spots_left);
        }
        env->cave[env->spots[pick]] = (unsigned char)thing;
        env->spots[pick] = env->spots[--*spots_left];
        laid++;
    }
    return laid;
}

// ---------------------------------------------------------------- seeing
// Nothing solid strictly between the hero and (x, y)
static bool in_view(const Cavemap* env, int x, int y) {
    int dx = x - env->x, dy = y - env->y;
    int steps = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
    for (int i = 1; i < steps; i++) {
        int px = env->x + (2 * dx * i + (dx < 0 ? -steps : steps)) / (2 * steps);
        int py = env->y + (2 * dy * i + (dy < 0 ? -steps : steps)) / (2 * steps);
        int tile = env->cave[at(env, px, py)];
        if (tile == ROCK || tile == RUBBLE) return false;
    }
    return true;
}

// Puts on the map what is in the light; returns how many tiles are new to it
static int look(Cavemap* env) {
    int reach = env->flare > 0 ? SIGHT_FLARE : env->oil > 0 ? SIGHT_LAMP : SIGHT_FEEL;
    int fresh = 0;
    for (int y = env->y - reach; y <= env->y + reach; y++) {
        for (int x = env->x - reach; x <= env->x + reach; x++) {
            if (x < 0 || x >= env->width || y < 0 || y >= env->height) continue;
            int tile = at(env, x, y);
            if (env->map[tile] == UNKNOWN && in_view(env, x, y)) {
                env->map[tile] = env->cave[tile];
                fresh++;
            }
        }
    }
    env->mapped += fresh;
    return fresh;
}

static unsigned char gauge(int value, int full) {
    return (unsigned char)((LEVELS - 1) * value / full);
}

static void draw_chart(const Cavemap* env, unsigned char* page) {
    page[OBS_OIL] = gauge(env->oil, env->lamp);
    page[OBS_CLOCK] = gauge(env->tick, env->max_ticks);
    page[OBS_DREAD] = gauge(env->dark, NERVE);
    page[OBS_FLARE] = (unsigned char)env->flare;
    memcpy(page + OBS_MAP, env->map, (size_t)(env->width * env->height));
    page[OBS_MAP + at(env, env->x, env->y)] = HERO;
}

// ---------------------------------------------------------------- the four functions
void init(Cavemap* env) {
    if (env->width < 5) env->width = 5;
    if (env->height < 5) env->height = 5;
    if (env->treasures < 1) env->treasures = 1;
    if (env->lamp < 1) env->lamp = 1;
    if (env->max_ticks < 1) env->max_ticks = 1;
    size_t area = (size_t)(env->width * env->height);
    env->cave = (unsigned char*)calloc(area, 1);
    env->map = (unsigned char*)calloc(area, 1);
    env->spots = (int*)calloc(area, sizeof(int));
}

void c_close(Cavemap* env) {
    free(env->cave);
    free(env->map);
    free(env->spots);
}

void c_reset(Cavemap* env) {
    int area = env->width * env->height;
    env->x = draw(env, env->width);
    env->y = draw(env, env->height);
    dig_out(env);

    int left = 0;
    for (int tile = 0; tile < area; tile++) {
        if (env->cave[tile] == FLOOR && tile != at(env, env->x, env->y)) env->spots[left++] = tile;
    }
    env->hidden = lay(env, &left, GEM, env->treasures, env->apart);
    lay(env, &left, FLASK, env->flasks, 0);
    lay(env, &left, RUBBLE, env->rubble, 0);

    env->oil = env->lamp / 2 + draw(env, env->lamp / 2 + 1);
    env->dark = 0;
    env->flare = 0;
    env->tick = 0;
    env->found = 0;
    env->mapped = 0;
    env->sum = 0.0f;
    memset(env->map, UNKNOWN, (size_t)area);
    look(env);
    draw_chart(env, env->observations);
}

// One tile on, or a heap of rubble less; returns the treasures picked up
static int go(Cavemap* env, int move) {
    int dx, dy;
    heading(move, &dx, &dy);
    if (!inside(env, env->x + dx, env->y + dy)) return 0;
    int to = at(env, env->x + dx, env->y + dy);
    int tile = env->cave[to];
    if (tile == ROCK) return 0;
    env->cave[to] = env->map[to] = FLOOR;
    if (tile == RUBBLE) {
        env->oil -= OIL_DIG;
        return 0;
    }
    env->x += dx;
    env->y += dy;
    if (tile == FLASK) {
        env->oil += env->flask_oil;
        if (env->oil > env->lamp) env->oil = env->lamp;
    }
    return tile == GEM ? 1 : 0;
}

static void write_log(Cavemap* env) {
    env->log.perf += (float)env->found / (float)env->hidden;
    env->log.score += (float)env->found;
    env->log.episode_return += env->sum;
    env->log.episode_length += (float)env->tick;
    env->log.mapped += (float)env->mapped / (float)(env->width * env->height);
    env->log.n += 1.0f;
}

void c_step(Cavemap* env) {
    int move = (int)env->actions[0];
    float pay = 0.0f;
    env->tick++;
    env->oil -= 1;
    if (env->flare > 0) env->flare--;

    if (move == LIGHT_FLARE) {
        if (env->flare == 0 && env->oil > OIL_FLARE) {
            env->flare = FLARE_TICKS;
            env->oil -= OIL_FLARE;
        }
    } else if (move != REST) {
        int gem = go(env, move);
        env->found += gem;
        pay += PAY_GEM * (float)gem;
    }
    if (env->oil < 0) env->oil = 0;
    env->dark = env->oil > 0 ? 0 : env->dark + 1;
    pay += PAY_TILE * (float)look(env);

    bool won = env->found == env->hidden;
    bool lost = !won && env->dark > NERVE;
    bool late = !won && !lost && env->tick >= env->max_ticks;
    if (lost) pay += PAY_LOST;
    env->sum += pay;

    env->rewards[0] = pay;
    env->terminals[0] = won || lost || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (won || lost || late) {
        if (late) draw_chart(env, env->final_observations);
        write_log(env);
        c_reset(env);
    } else {
        draw_chart(env, env->observations);
    }
}

// ---------------------------------------------------------------- the picture
void c_render(Cavemap* env) {
    const int side = 40, top = 36;
    const Color paint[] = {{12, 12, 18, 255}, {70, 62, 58, 255}, {150, 136, 112, 255},
                           {108, 92, 80, 255}, {250, 205, 60, 255}, {90, 170, 230, 255}};
    if (!IsWindowReady()) {
        InitWindow(env->width * side, env->height * side + top, "cavemap");
        SetTargetFPS(10);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    for (int y = 0; y < env->height; y++) {
        for (int x = 0; x < env->width; x++) {
            DrawRectangle(x * side, top + y * side, side - 1, side - 1,
                          paint[env->map[at(env, x, y)]]);
        }
    }
    DrawCircle(env->x * side + side / 2, top + env->y * side + side / 2, side * 0.35f,
               env->flare > 0 ? ORANGE : RED);
    DrawText(TextFormat("oil %d   gems %d of %d   tick %d", env->oil, env->found, env->hidden,
                        env->tick), 8, 8, 20, RAYWHITE);
    EndDrawing();
}
