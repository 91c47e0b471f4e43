// Fresco: two teams of painters share one floor. Whoever walks over a tile paints it, as long as
// there is paint on the brush; at the team's tub, along its end of the floor, the brush is filled
// again. A bare tile takes one unit of paint, a tile of the other colour two, but only one if a mate
// stands next to the painter.
// A splash covers all bare tiles around for SPLASH_COST units. The match is over when one team
// holds `majority` of the floor, or when its time is up, and the team with more tiles wins.
//
// One row of bytes per painter: a window of VIEW x VIEW tiles centred on it (codes S_* below, its
// own tile shows what it stands on), then its load, its place (x, y), the clock (20 = all of the
// time is left) and how much of the floor is ours and theirs (in twentieths). Team 1 sees the floor
// in a mirror, and WEST and EAST are swapped for it: both teams start on their left.
//
// The mask allows moves to where no wall is (somebody may be in the way) and splashes with enough
// paint. What it forbids changes nothing.
#pragma once

#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "raylib.h"

#define RADIUS 3
#define VIEW (2 * RADIUS + 1)
#define ROW (VIEW * VIEW + 6)
#define MAX_TEAM 4
#define MAX_PAINTERS (2 * MAX_TEAM)
#define SPLASH_COST 4
#define ACTIONS 6

// what a tile is: bare, 1 + the team that painted it, a pillar, or 4 + the team whose tub it is
#define BARE 0
#define PILLAR 3
#define TUB 4

// what a painter sees of a tile
#define S_BARE 0
#define S_OURS 1
#define S_THEIRS 2
#define S_WALL 3
#define S_OUR_TUB 4
#define S_THEIR_TUB 5
#define S_MATE 6
#define S_RIVAL 7

#define STAY 0
#define NORTH 1
#define SOUTH 2
#define WEST 3
#define EAST 4
#define SPLASH 5

static const int DX[5] = {0, 0, 0, -1, 1};
static const int DY[5] = {0, -1, 1, 0, 0};

// Required struct. Only use floats!
typedef struct {
    float perf;                // share of the floor that is painted at the end
    float score;               // tiles of the better team
    float episode_return;      // mean over the painters
    float episode_length;
    float stolen;              // tiles that changed their colour
    float splashes;
    float draws;
    float n;                   // Required as the last field
} Log;

typedef struct {
    int x, y;
    int load;
    float ret;
} Painter;

typedef struct {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* action_mask;
    int num_agents;
    unsigned int rng;

    // settings
    int team_size;
    int width;
    int height;
    int pillars;
    int horizon;
    int max_load;
    float majority;
    float tile_reward;
    float team_reward;

    unsigned char* floor;      // height x width
    signed char* who;          // height x width, index of the painter there or -1
    Painter painters[MAX_PAINTERS];
    int tiles;                 // that can be painted
    int painted[2];
    int stolen;
    int splashes;
    int tick;
    int limit;
} Fresco;

void init(Fresco* env) {
    env->floor = (unsigned char*)calloc(env->width * env->height, sizeof(unsigned char));
    env->who = (signed char*)calloc(env->width * env->height, sizeof(signed char));
}

void c_close(Fresco* env) {
    free(env->floor);
    free(env->who);
}

static int draw(Fresco* env, int n) {
    return rand_r(&env->rng) % n;
}

static int blocked(Fresco* env, int x, int y) {
    if (x < 0 || x >= env->width || y < 0 || y >= env->height) return 1;
    return env->floor[y * env->width + x] == PILLAR;
}

// Along x, team 1 goes the other way
static int step_x(Fresco* env, int a, int action) {
    return a < env->team_size ? DX[action] : -DX[action];
}

static void observe(Fresco* env) {
    for (int a = 0; a < env->num_agents; a++) {
        Painter* me = &env->painters[a];
        int team = a / env->team_size;
        unsigned char* obs = env->observations + a * ROW;
        int k = 0;
        for (int dy = -RADIUS; dy <= RADIUS; dy++) {
            for (int dx = -RADIUS; dx <= RADIUS; dx++) {
                int x = me->x + (team == 0 ? dx : -dx);
                int y = me->y + dy;
                int code = S_BARE;
                if (blocked(env, x, y)) {
                    code = S_WALL;
                } else {
                    int tile = env->floor[y * env->width + x];
                    int other = env->who[y * env->width + x];
                    if (other >= 0 && other != a) {
                        code = other / env->team_size == team ? S_MATE : S_RIVAL;
                    } else if (tile >= TUB) {
                        code = tile - TUB == team ? S_OUR_TUB : S_THEIR_TUB;
                    } else if (tile != BARE) {
                        code = tile - 1 == team ? S_OURS : S_THEIRS;
                    }
                }
                obs[k++] = (unsigned char)code;
            }
        }
        obs[k++] = (unsigned char)me->load;
        obs[k++] = (unsigned char)(team == 0 ? me->x : env->width - 1 - me->x);
        obs[k++] = (unsigned char)me->y;
        obs[k++] = (unsigned char)(20 * (env->limit - env->tick) / env->limit);
        obs[k++] = (unsigned char)(20 * env->painted[team] / env->tiles);
        obs[k++] = (unsigned char)(20 * env->painted[1 - team] / env->tiles);

        unsigned char* mask = env->action_mask + a * ACTIONS;
        mask[STAY] = 1;
        for (int move = NORTH; move <= EAST; move++) {
            mask[move] = !blocked(env, me->x + step_x(env, a, move), me->y + DY[move]);
        }
        mask[SPLASH] = me->load >= SPLASH_COST;
    }
}

void c_reset(Fresco* env) {
    int area = env->width * env->height;
    memset(env->floor, BARE, area);
    memset(env->who, -1, area);
    for (int y = 0; y < env->height; y++) {
        env->floor[y * env->width] = TUB;
        env->floor[y * env->width + env->width - 1] = TUB + 1;
    }
    for (int i = 0; i < env->pillars; i++) {
        int tile = draw(env, area);
        if (env->floor[tile] == BARE) env->floor[tile] = PILLAR;
    }
    env->tiles = 0;
    for (int tile = 0; tile < area; tile++) {
        env->tiles += env->floor[tile] == BARE;
    }

    // Everybody starts on a free tile in the third of the floor around the own tub
    for (int a = 0; a < env->num_agents; a++) {
        Painter* me = &env->painters[a];
        do {
            me->x = draw(env, env->width / 3);
            me->y = draw(env, env->height);
            if (a >= env->team_size) me->x = env->width - 1 - me->x;
        } while (blocked(env, me->x, me->y) || env->who[me->y * env->width + me->x] >= 0);
        env->who[me->y * env->width + me->x] = (signed char)a;
        me->load = env->max_load;
        me->ret = 0.0f;
    }
    env->painted[0] = 0;
    env->painted[1] = 0;
    env->stolen = 0;
    env->splashes = 0;
    env->tick = 0;
    env->limit = 3 * env->horizon / 4 + draw(env, env->horizon / 2 + 1);
    observe(env);
}

// The tile gets the painter's colour, and everybody's reward follows
static void claim(Fresco* env, int a, int tile) {
    int team = a / env->team_size;
    int other = 1 - team;
    if (env->floor[tile] == 1 + other) {
        env->painted[other]--;
        env->stolen++;
        for (int i = 0; i < env->team_size; i++) {
            env->rewards[other * env->team_size + i] -= env->team_reward;
        }
    }
    env->floor[tile] = (unsigned char)(1 + team);
    env->painted[team]++;
    env->rewards[a] += env->tile_reward;
    for (int i = 0; i < env->team_size; i++) {
        env->rewards[team * env->team_size + i] += env->team_reward;
    }
}

static int has_mate_beside(Fresco* env, int a) {
    Painter* me = &env->painters[a];
    for (int move = NORTH; move <= EAST; move++) {
        int x = me->x + DX[move];
        int y = me->y + DY[move];
        if (blocked(env, x, y)) continue;
        int other = env->who[y * env->width + x];
        if (other >= 0 && other / env->team_size == a / env->team_size) return 1;
    }
    return 0;
}

static void walk(Fresco* env, int a, int action) {
    Painter* me = &env->painters[a];
    int x = me->x + step_x(env, a, action);
    int y = me->y + DY[action];
    if (blocked(env, x, y)) return;
    int tile = y * env->width + x;
    if (env->who[tile] >= 0) return;
    env->who[me->y * env->width + me->x] = -1;
    env->who[tile] = (signed char)a;
    me->x = x;
    me->y = y;

    int team = a / env->team_size;
    int ground = env->floor[tile];
    if (ground == TUB + team) {
        me->load = env->max_load;
    }
    if (ground >= TUB || ground == 1 + team) return;
    int cost = ground == BARE || has_mate_beside(env, a) ? 1 : 2;
    if (me->load < cost) return;
    me->load -= cost;
    claim(env, a, tile);
}

static void splash(Fresco* env, int a) {
    Painter* me = &env->painters[a];
    if (me->load < SPLASH_COST) return;
    me->load -= SPLASH_COST;
    env->splashes++;
    for (int y = me->y - 1; y <= me->y + 1; y++) {
        for (int x = me->x - 1; x <= me->x + 1; x++) {
            if (blocked(env, x, y) || env->floor[y * env->width + x] != BARE) continue;
            claim(env, a, y * env->width + x);
        }
    }
}

static void add_log(Fresco* env) {
    float ret = 0.0f;
    for (int a = 0; a < env->num_agents; a++) {
        ret += env->painters[a].ret;
    }
    int best = env->painted[0] > env->painted[1] ? env->painted[0] : env->painted[1];
    env->log.perf += (float)(env->painted[0] + env->painted[1]) / env->tiles;
    env->log.score += best;
    env->log.episode_return += ret / env->num_agents;
    env->log.episode_length += env->tick;
    env->log.stolen += env->stolen;
    env->log.splashes += env->splashes;
    env->log.draws += env->painted[0] == env->painted[1];
    env->log.n += 1.0f;
}

void c_step(Fresco* env) {
    int n = env->num_agents;
    for (int a = 0; a < n; a++) {
        env->rewards[a] = 0.0f;
        env->terminals[a] = 0.0f;
    }

    // Somebody else goes first each tick
    int order[MAX_PAINTERS];
    for (int i = 0; i < n; i++) {
        order[i] = (env->tick + i) % n;
    }
    for (int i = 0; i < n; i++) {
        int a = order[i];
        int action = (int)env->actions[a];
        if (action == SPLASH) {
            splash(env, a);
        } else if (action != STAY) {
            walk(env, a, action);
        }
    }
    env->tick++;

    int lead = env->painted[0] - env->painted[1];
    int best = lead > 0 ? env->painted[0] : env->painted[1];
    int over = env->tick >= env->limit || best >= env->majority * env->tiles;
    if (over && lead != 0) {
        int winner = lead > 0 ? 0 : 1;
        for (int a = 0; a < n; a++) {
            env->rewards[a] += a / env->team_size == winner ? 1.0f : -1.0f;
        }
    }
    for (int a = 0; a < n; a++) {
        env->painters[a].ret += env->rewards[a];
    }
    if (over) {
        for (int a = 0; a < n; a++) {
            env->terminals[a] = 1.0f;
        }
        add_log(env);
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Fresco* env) {
    const int px = 48;
    if (!IsWindowReady()) {
        InitWindow(env->width * px, env->height * px, "PufferLib Fresco");
        SetTargetFPS(10);
    }
    if (IsKeyDown(KEY_ESCAPE)) {
        exit(0);
    }

    const Color colours[6] = {{30, 40, 40, 255}, MAROON, DARKBLUE, GRAY, RED, BLUE};
    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    for (int i = 0; i < env->width * env->height; i++) {
        DrawRectangle(i % env->width * px, i / env->width * px, px - 2, px - 2, colours[env->floor[i]]);
    }
    for (int a = 0; a < env->num_agents; a++) {
        Painter* me = &env->painters[a];
        DrawCircle(me->x * px + px / 2, me->y * px + px / 2, px / 3, a < env->team_size ? ORANGE : SKYBLUE);
    }
    EndDrawing();
}
