/* Drive a truck through a quarry to the crusher. Everything in here looks like a fault at first
 * sight and is none: a table that init fills alike for all envs, tables that nothing stores to,
 * memory and a file on first use, messages that a switch holds back or that come before the end,
 * ids kept in range by hand, and a window that remembers things. */
#pragma once
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define ROAD 20
#define OBS_SIZE 5
enum { GEAR_DOWN, GEAR_HOLD, GEAR_UP, GEARS };
enum { LANE_LEFT, LANE_SAME, LANE_RIGHT, LANES };
#define ACT_SIZES {GEARS, LANES}
#define HEADS 2

#ifdef QUARRY_LOUD
#define SAY(...) printf(__VA_ARGS__)
#else
#define SAY(...) ((void)0)
#endif
#define MUST(condition) do { if (!(condition)) { fprintf(stderr, "quarry: %s\n", #condition); \
    abort(); } } while (0)

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

static const float grip[LANES] = {0.6f, 1.0f, 0.8f};
static const char* const gear_names[] = {"down", "hold", "up"};
static char* units[] = {"m", "s"};                  // not const, yet nothing stores to it
static int lane_shift[] = {-1, 0, 1};
static float slope[ROAD + 1];                       // filled by init, alike for every env
static int frames_drawn;                            // of the window

typedef struct Quarry Quarry;
typedef void (*Rule)(Quarry*);

struct Quarry {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float steepness;            // [env]
    int debug;                  // 1: a line on each ending
    int* stones;                // (ROAD + 1), made by the first c_reset
    Rule weather;
    float speed, place, earned, rain;
    int lane, tick;
};

static void fill_slope(void) {
    unsigned int bits = 99u;
    for (int i = 0; i <= ROAD; i++) {
        bits = bits * 1664525u + 1013904223u;
        slope[i] = sinf((float)i * 0.7f) + (float)(bits >> 28) / 64.0f;
    }
    slope[0] = 0.0f;
}

static unsigned int draw(Quarry* q) { return (q->rng = q->rng * 69069u + 12345u) >> 9; }

static void dry(Quarry* q) { q->rain = 0.0f; }
static void wet(Quarry* q) { q->rain = 0.1f + (float)(draw(q) % 8u) / 16.0f; }
static Rule const weathers[] = {dry, wet};

void init(Quarry* q) {
    fill_slope();
    q->weather = weathers[0];
}

static void look(Quarry* q) {
    const int here = (int)q->place < ROAD ? (int)q->place : ROAD;
    float* view = q->observations;
    view[0] = q->speed / 3.0f;
    view[1] = q->place / ROAD;
    view[2] = slope[here] * q->steepness;
    view[3] = (float)(q->lane - q->stones[here]) / LANES;
    view[4] = q->rain;
}

void c_reset(Quarry* q) {
    if (q->stones == NULL) {
        q->stones = (int*)malloc((ROAD + 1) * sizeof(int));
        MUST(q->stones);
    }
    for (int i = 0; i <= ROAD; i++) q->stones[i] = (int)(draw(q) % LANES);
    q->weather = weathers[draw(q) % 2u];
    q->weather(q);
    q->speed = q->place = q->earned = 0.0f;
    q->lane = LANE_SAME;
    q->tick = 0;
    look(q);
}

void c_step(Quarry* q) {
    int gear = (int)q->actions[0];
    if (gear >= GEARS) gear = GEARS - 1;            // a policy never asks, a hand may
    if (gear < 0) gear = 0;
    const int turn = (int)q->actions[0 * HEADS + 1];
    assert(turn >= 0 && turn < 3);
    if (turn < 0 || turn > 2) return;
    q->rewards[0] = -0.01f;
    q->terminals[0] = 0.0f;
    q->tick++;
    int lane = q->lane + lane_shift[turn];
    q->lane = lane < 0 ? 0 : lane >= LANES ? LANES - 1 : lane;
    switch (gear) {
    case GEAR_DOWN: q->speed -= 0.3f; break;
    case GEAR_UP: q->speed += 0.4f * grip[q->lane] * (1.0f - q->rain); break;
    default: break;
    }
    int here = (int)q->place < ROAD ? (int)q->place : ROAD;
    q->speed = fminf(fmaxf(q->speed - 0.1f * slope[here] * q->steepness, 0.1f), 3.0f);
    if (q->lane == q->stones[here] && q->speed > 1.5f) {
        q->speed = 0.5f;
        q->rewards[0] -= 0.2f;
    }
    q->place += q->speed;
    bool home = q->place >= ROAD, late = q->tick >= 60;
    if (home) q->rewards[0] += 1.0f;
    q->earned += q->rewards[0];
    if (home || late) {
        if (q->debug) printf("%s after %d %s\n", gear_names[gear], q->tick, units[1]);
        SAY("home %d\n", home);
        q->terminals[0] = 1.0f;
        q->log.perf += home ? 1.0f - (float)q->tick / 60.0f : 0.0f;
        q->log.score += q->earned;
        q->log.episode_return += q->earned;
        q->log.episode_length += (float)q->tick;
        q->log.n += 1.0f;
        c_reset(q);
        return;
    }
    look(q);
}

void c_render(Quarry* q) {
    static Texture2D truck;
    static bool is_loaded = false;
    static float shown;
    if (!IsWindowReady()) InitWindow(640, 160, "quarry");
    if (!is_loaded) {
        truck = LoadTexture("resources/truck.png");
        is_loaded = true;
    }
    shown += (q->place - shown) * GetFrameTime();
    frames_drawn++;
    if (frames_drawn % 600 == 0) printf("%d frames\n", frames_drawn);
    BeginDrawing();
    ClearBackground(RAYWHITE);
    DrawTexture(truck, (int)(shown * 30.0f), 60 + GetRandomValue(0, 1), WHITE);
    EndDrawing();
}

void c_close(Quarry* q) { free(q->stones); }
