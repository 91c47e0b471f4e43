// Anthill: a colony of ants carries crumbs from heaps of food to the nest, three by three tiles in
// the middle of a yard. An ant sees only the tiles around it, but it can lay a trail of scent, which fades, and
// which all ants smell: that is how those who know a heap tell the others. Bringing a crumb home
// is a meal. An ant that brings none for `stamina` ticks starves; the others die of old age.
//
// The yard lives on for ever. An episode is the life of one ant: when it dies, its row gets a
// terminal, and a new ant hatches at the nest. Ants do not block each other.
//
// A row of the observation: for each tile of a window of VIEW x VIEW, turned so that the ant
// looks to its upper edge, the scent on it, the food on it (-1: outside of the yard) and the
// other ants on it. Then what the ant knows about itself, and the way to the nest.
#pragma once

#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "raylib.h"

#define RADIUS 2
#define VIEW (2 * RADIUS + 1)
#define MAX_ANTS 16
#define MARK 0.5f              // scent that one step adds to a tile
#define FAINT 0.01f            // less scent than this is none
#define PAR 40.0f              // ticks for a crumb that count as perf 1

enum {
    OBS_WINDOW,                                // [-1, 1]  scent, food, ants of each tile
    OBS_LOAD = OBS_WINDOW + 3 * VIEW * VIEW,   // [0, 1]   1 if it carries a crumb
    OBS_STAMINA,                               // [0, 1]
    OBS_AGE,                                   // [0, 1]
    OBS_NEST_AHEAD,                            // [-1, 1]  way to the nest, over the yard's size
    OBS_NEST_RIGHT,                            // [-1, 1]
    ROW
};

// first head (0 waits); the second says whether a step leaves scent
#define FORWARD 1
#define LEFT 2
#define RIGHT 3

// north, east, south, west
static const int DX[4] = {0, 1, 0, -1};
static const int DY[4] = {-1, 0, 1, 0};

// Required struct. Only use floats!
typedef struct {
    float perf;                // crumbs brought home per PAR ticks, at most 1
    float score;               // crumbs brought home
    float episode_return;
    float episode_length;      // ticks that the ant lived
    float brought_home;        // share of the crumbs that it took
    float starved;             // share of the ants that did
    float n;                   // Required as the last field
} Log;

typedef struct {
    int x, y;
    int facing;
    int load;
    int stamina;
    int age;                   // ticks since it hatched
    int taken;
    int delivered;
    float ret;
} Ant;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    // settings
    int width;
    int height;
    int heaps;
    int heap_size;
    int stamina;
    int max_age;
    float trail_keep;
    float pickup_reward;
    float deliver_reward;
    float starve_cost;

    float* scent;              // height x width
    int* food;                 // height x width
    Ant ants[MAX_ANTS];
    int nest_x, nest_y;
    int tick;
} Anthill;

void init(Anthill* env) {
    if (env->num_agents < 1) env->num_agents = 1;
    if (env->num_agents > MAX_ANTS) env->num_agents = MAX_ANTS;
    env->width = env->width < 8 ? 8 : env->width;
    env->height = env->height < 8 ? 8 : env->height;
    if (env->heaps > 16) env->heaps = 16;
    if (env->heap_size < 1) env->heap_size = 1;
    if (env->stamina < 2) env->stamina = 2;
    env->trail_keep = fminf(1.0f, fmaxf(0.0f, env->trail_keep));
    env->scent = (float*)calloc(env->width * env->height, sizeof(float));
    env->food = (int*)calloc(env->width * env->height, sizeof(int));
    env->nest_x = env->width / 2;
    env->nest_y = env->height / 2;
}

void c_close(Anthill* env) {
    free(env->scent);
    free(env->food);
}

static int in_nest(Anthill* env, int x, int y) {
    return abs(x - env->nest_x) <= 1 && abs(y - env->nest_y) <= 1;
}

// A new heap of food, somewhere that is neither the nest nor another heap
static void drop_heap(Anthill* env) {
    int tiles = env->width * env->height, tile = rand_r(&env->rng) % tiles;
    while (in_nest(env, tile % env->width, tile / env->width) || env->food[tile] > 0) {
        tile = (tile + 1) % tiles;
    }
    env->food[tile] = env->heap_size;
}

static void hatch(Anthill* env, int a) {
    Ant* me = &env->ants[a];
    me->x = env->nest_x;
    me->y = env->nest_y;
    me->facing = rand_r(&env->rng) % 4;
    me->load = 0;
    me->stamina = env->stamina;
    me->age = 0;
    me->taken = 0;
    me->delivered = 0;
    me->ret = 0.0f;
}

static void compute_observations(Anthill* env) {
    float size = fmaxf(env->width, env->height);
    for (int a = 0; a < env->num_agents; a++) {
        Ant* me = &env->ants[a];
        float* obs = env->observations + a * ROW;
        int ahead_x = DX[me->facing], ahead_y = DY[me->facing];
        int right_x = -ahead_y, right_y = ahead_x, k = OBS_WINDOW;
        for (int ahead = RADIUS; ahead >= -RADIUS; ahead--) {
            for (int right = -RADIUS; right <= RADIUS; right++) {
                int x = me->x + ahead * ahead_x + right * right_x;
                int y = me->y + ahead * ahead_y + right * right_y;
                if (x < 0 || x >= env->width || y < 0 || y >= env->height) {
                    obs[k++] = 0.0f;
                    obs[k++] = -1.0f;
                    obs[k++] = 0.0f;
                    continue;
                }
                int others = 0;
                for (int b = 0; b < env->num_agents; b++) {
                    others += b != a && env->ants[b].x == x && env->ants[b].y == y;
                }
                obs[k++] = env->scent[y * env->width + x];
                obs[k++] = (float)env->food[y * env->width + x] / env->heap_size;
                obs[k++] = fminf(1.0f, 0.25f * others);
            }
        }
        int dx = env->nest_x - me->x, dy = env->nest_y - me->y;
        obs[OBS_LOAD] = me->load;
        obs[OBS_STAMINA] = (float)me->stamina / env->stamina;
        obs[OBS_AGE] = (float)me->age / env->max_age;
        obs[OBS_NEST_AHEAD] = (dx * ahead_x + dy * ahead_y) / size;
        obs[OBS_NEST_RIGHT] = (dx * right_x + dy * right_y) / size;
    }
}

void c_reset(Anthill* env) {
    int tiles = env->width * env->height;
    memset(env->scent, 0, tiles * sizeof(float));
    memset(env->food, 0, tiles * sizeof(int));
    for (int h = 0; h < env->heaps; h++) {
        drop_heap(env);
    }
    env->tick = 0;
    for (int a = 0; a < env->num_agents; a++) {
        hatch(env, a);
        // the first generation is not equally hungry, so that it does not starve all at once
        env->ants[a].stamina = 1 + rand_r(&env->rng) % env->stamina;
    }
    compute_observations(env);
}

static void add_log(Anthill* env, Ant* me) {
    env->log.perf += fminf(1.0f, me->delivered * PAR / me->age);
    env->log.score += me->delivered;
    env->log.episode_return += me->ret;
    env->log.episode_length += me->age;
    env->log.brought_home += me->taken > 0 ? (float)me->delivered / me->taken : 0.0f;
    env->log.starved += me->stamina <= 0 ? 1.0f : 0.0f;
    env->log.n += 1.0f;
}

static void walk(Anthill* env, Ant* me, int mark) {
    int x = me->x + DX[me->facing], y = me->y + DY[me->facing];
    if (x < 0 || x >= env->width || y < 0 || y >= env->height) return;
    if (mark) {
        float* scent = &env->scent[me->y * env->width + me->x];
        *scent = fminf(1.0f, *scent + MARK);
    }
    me->x = x;
    me->y = y;
}

void c_step(Anthill* env) {
    int n = env->num_agents;
    for (int a = 0; a < n; a++) {
        env->rewards[a] = 0.0f;
        env->terminals[a] = 0.0f;
    }
    for (int i = 0; i < env->width * env->height; i++) {
        env->scent[i] *= env->trail_keep;
        if (env->scent[i] < FAINT) env->scent[i] = 0.0f;
    }

    // Somebody else goes first each tick: two may want the last crumb of a heap
    for (int i = 0; i < n; i++) {
        int a = (env->tick + i) % n;
        Ant* me = &env->ants[a];
        int move = (int)env->actions[2 * a];
        int mark = (int)env->actions[2 * a + 1];
        if (move == FORWARD) {
            walk(env, me, mark);
        } else if (move == LEFT) {
            me->facing = (me->facing + 3) % 4;
        } else if (move == RIGHT) {
            me->facing = (me->facing + 1) % 4;
        }
        me->age++;
        me->stamina--;

        int tile = me->y * env->width + me->x;
        if (!me->load && env->food[tile] > 0) {
            me->load = 1;
            me->taken++;
            env->rewards[a] += env->pickup_reward;
            me->ret += env->pickup_reward;
            if (--env->food[tile] == 0) {
                drop_heap(env);
            }
        }
        if (me->load && in_nest(env, me->x, me->y)) {
            me->load = 0;
            me->delivered++;
            me->stamina = env->stamina;
            env->rewards[a] += env->deliver_reward;
            me->ret += env->deliver_reward;
        }
        if (me->stamina <= 0) {
            env->rewards[a] -= env->starve_cost;
            me->ret -= env->starve_cost;
            env->terminals[a] = 1.0f;
        } else if (me->age >= env->max_age) {
            env->terminals[a] = 1.0f;
        }
        if (me->stamina <= 0 || me->age >= env->max_age) {
            add_log(env, me);
            hatch(env, a);
        }
    }
    env->tick++;
    compute_observations(env);
}

void c_render(Anthill* env) {
    const int px = 36;
    if (!IsWindowReady()) {
        InitWindow(env->width * px, env->height * px, "PufferLib Anthill");
        SetTargetFPS(10);
    }
    if (IsKeyDown(KEY_ESCAPE)) exit(0);

    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    for (int y = 0; y < env->height; y++) {
        for (int x = 0; x < env->width; x++) {
            int tile = y * env->width + x;
            DrawRectangle(x * px, y * px, px, px, Fade(DARKPURPLE, env->scent[tile]));
            if (env->food[tile] > 0) {
                DrawCircle(x * px + px / 2, y * px + px / 2, 4 + env->food[tile], GREEN);
            }
        }
    }
    DrawRectangleLines((env->nest_x - 1) * px, (env->nest_y - 1) * px, 3 * px, 3 * px, BROWN);
    for (int a = 0; a < env->num_agents; a++) {
        Ant* me = &env->ants[a];
        int cx = me->x * px + px / 2, cy = me->y * px + px / 2;
        DrawCircle(cx, cy, px / 4, me->load ? GOLD : RED);
        DrawCircle(cx + DX[me->facing] * px / 4, cy + DY[me->facing] * px / 4, px / 8, RED);
    }
    EndDrawing();
}
