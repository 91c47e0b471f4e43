// wildfire: a helicopter against a burning forest. The forest is a cellular automaton;
// the board lives in the observation and only the cells that change are touched.
#pragma once
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

// size*size cells, then: water in the tank, wind direction, clock (0..255)
#define OBS_SIZE (env->size * env->size + 3)
#define ACT_SIZES {6}   // 0 hover, 1 up, 2 down, 3 left, 4 right, 5 drop water

enum { BARE, TREE, FIRE, ASH, WET, LAKE, HELI = 8 };    // HELI is or-ed onto the cell
#define LAKES 4

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Wildfire {
    Log log;
    unsigned char *observations;
    float *actions;
    float *rewards;
    float *terminals;
    int num_agents;
    unsigned int rng;
    int size, fires, burn_ticks, damp_ticks, tank, max_ticks;
    float density, spread;
    // state
    unsigned char *cell;    // what is on the ground
    int *timer;             // ticks left for FIRE and WET
    unsigned char *lit;     // catches fire at the end of this tick
    int pos, water, wind, tick, trees, lost, burning;
    float ret;
} Wildfire;

static const int DR[4] = {-1, 1, 0, 0}, DC[4] = {0, 0, -1, 1};

static unsigned rnd(Wildfire *env, unsigned n) {
    env->rng = env->rng * 1664525u + 1013904223u;
    return (unsigned)(((unsigned long long)(env->rng ^ (env->rng >> 15)) * n) >> 32);
}
static float unif(Wildfire *env) { return rnd(env, 1u << 20) / (float)(1u << 20); }

// write one cell to the ground and to the board the agent sees
static void put(Wildfire *env, int i, int v) {
    env->cell[i] = v;
    env->observations[i] = v | (i == env->pos ? HELI : 0);
}

static void dials(Wildfire *env) {
    unsigned char *o = env->observations + env->size * env->size;
    o[0] = env->water > 255 ? 255 : env->water;
    o[1] = env->wind;
    o[2] = (unsigned char)(255LL * env->tick / env->max_ticks);
}

static int neighbour(Wildfire *env, int i, int d) {
    int r = i / env->size + DR[d], c = i % env->size + DC[d];
    if (r < 0 || c < 0 || r >= env->size || c >= env->size) return -1;
    return r * env->size + c;
}

void init(Wildfire *env) {
    if (env->max_ticks < 1) env->max_ticks = 1;
    int n = env->size * env->size;
    env->cell = calloc(n, 1);
    env->lit = calloc(n, 1);
    env->timer = calloc(n, sizeof(int));
}

void c_close(Wildfire *env) {
    free(env->cell);
    free(env->lit);
    free(env->timer);
    if (IsWindowReady()) CloseWindow();
}

void c_reset(Wildfire *env) {
    int n = env->size * env->size;
    env->pos = n / 2;
    env->water = env->tank;
    env->wind = rnd(env, 4);
    env->tick = env->trees = env->lost = env->burning = 0;
    env->ret = 0;
    memset(env->timer, 0, n * sizeof(int));
    memset(env->lit, 0, n);
    for (int i = 0; i < n; i++) put(env, i, unif(env) < env->density ? TREE : BARE);
    for (int k = 0; k < LAKES; k++) put(env, rnd(env, n), LAKE);
    for (int k = 0; k < env->fires; k++) {
        int i = rnd(env, n);
        put(env, i, FIRE);
        env->timer[i] = env->burn_ticks;
    }
    for (int i = 0; i < n; i++) {
        env->trees += env->cell[i] == TREE;
        env->burning += env->cell[i] == FIRE;
    }
    dials(env);
}

static void fly(Wildfire *env, int d) {
    int old = env->pos, to = neighbour(env, old, d);
    if (to < 0) return;
    env->pos = to;
    put(env, old, env->cell[old]);      // takes the helicopter off
    put(env, to, env->cell[to]);
}

// soaks 3x3 cells; returns the fires that went out
static int drop(Wildfire *env) {
    int r0 = env->pos / env->size, c0 = env->pos % env->size, out = 0;
    if (env->water == 0) return 0;
    env->water--;
    for (int r = r0 - 1; r <= r0 + 1; r++)
        for (int c = c0 - 1; c <= c0 + 1; c++) {
            if (r < 0 || c < 0 || r >= env->size || c >= env->size) continue;
            int i = r * env->size + c;
            if (env->cell[i] == FIRE) {
                out++;
                env->burning--;
                env->timer[i] = 0;
                put(env, i, ASH);
            } else if (env->cell[i] == TREE || env->cell[i] == WET) {
                env->timer[i] = env->damp_ticks;
                put(env, i, WET);
            }
        }
    return out;
}

// one generation of the automaton; returns the trees that caught fire
static int spread_fire(Wildfire *env) {
    int n = env->size * env->size, caught = 0;
    for (int i = 0; i < n; i++) {
        if (env->cell[i] != FIRE) continue;
        for (int d = 0; d < 4; d++) {
            int j = neighbour(env, i, d);
            if (j < 0 || env->cell[j] != TREE) continue;
            float p = d == env->wind ? 2 * env->spread : env->spread;
            if (unif(env) < p) env->lit[j] = 1;
        }
    }
    for (int i = 0; i < n; i++) {
        if (env->lit[i]) {
            env->lit[i] = 0;
            env->timer[i] = env->burn_ticks;
            env->burning++;
            caught++;
            put(env, i, FIRE);
        } else if (env->timer[i] > 0 && --env->timer[i] == 0) {
            if (env->cell[i] == FIRE) env->burning--;
            put(env, i, env->cell[i] == FIRE ? ASH : TREE);
        }
    }
    return caught;
}

void c_step(Wildfire *env) {
    int a = (int)env->actions[0], done = 0;
    float r = 0, scale = 1.0f / (env->trees > 0 ? env->trees : 1);
    env->terminals[0] = 0;
    env->tick++;
    if (a >= 1 && a <= 4) fly(env, a - 1);
    if (a == 5) r += 0.05f * drop(env);
    if (env->cell[env->pos] == LAKE) env->water = env->tank;
    if (rnd(env, 40) == 0) env->wind = rnd(env, 4);

    int caught = spread_fire(env);
    env->lost += caught;
    r -= caught * scale;
    float saved = (env->trees - env->lost) * scale;
    if (env->burning == 0) { r += saved; done = 1; }
    else if (saved < 0.4f) { r -= 1; done = 1; }
    else if (env->tick >= env->max_ticks) done = 1;

    env->rewards[0] = r;
    env->ret += r;
    if (done) {
        env->terminals[0] = 1;
        env->log.perf += saved;
        env->log.score += env->trees - env->lost;
        env->log.episode_return += env->ret;
        env->log.episode_length += env->tick;
        env->log.n += 1;
        c_reset(env);
        return;
    }
    dials(env);
}

void c_render(Wildfire *env) {
    Color ink[] = {DARKBROWN, DARKGREEN, ORANGE, DARKGRAY, LIME, BLUE};
    int t = 480 / env->size;
    if (!IsWindowReady()) { InitWindow(480, 480, "wildfire"); SetTargetFPS(10); }
    BeginDrawing();
    ClearBackground(BLACK);
    for (int i = 0; i < env->size * env->size; i++)
        DrawRectangle(i % env->size * t, i / env->size * t, t - 1, t - 1, ink[env->cell[i]]);
    DrawCircle(env->pos % env->size * t + t / 2, env->pos / env->size * t + t / 2, t / 3.0f, RAYWHITE);
    EndDrawing();
}
