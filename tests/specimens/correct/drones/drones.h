// Three drones fly to beacons, with continuous thrust. A time limit truncates; a crash ends.
// The beacon's place is written when it changes, which is on reset alone; arms lie on the heap.
#pragma once
#include <math.h>
#include <stdlib.h>
#define OBS_SIZE 7
#define ACT_SIZES {1, 1}
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif
typedef struct Log {
    float score;
    float episode_length;
    float n;
} Log;
static inline float roll(unsigned int* rng) {      // [0, 1)
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

typedef struct Drone { float x, y, vx, vy; } Drone;

typedef struct Drones {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    int num_agents;
    unsigned int rng;
    int count;                  // [env] drones
    float limit;                // [env] ticks
    float bx, by;
    int tick;
    Drone* drones;
    Texture2D* sprite;          // allocated on first drawing
} Drones;

void init(Drones* env) {
    env->num_agents = env->count;
    env->drones = calloc((size_t)env->count, sizeof(Drone));
}

static void observe(Drones* env) {
    for (int i = 0; i < env->count; i++) {
        Drone* d = &env->drones[i];
        float* o = env->observations + i * OBS_SIZE;
        o[0] = d->x;
        o[1] = d->y;
        o[2] = 10.0f * d->vx;
        o[3] = 10.0f * d->vy;
        o[4] = (float)env->tick / env->limit;
    }
}

void c_reset(Drones* env) {
    env->bx = 2.0f * roll(&env->rng) - 1.0f;
    env->by = 2.0f * roll(&env->rng) - 1.0f;
    for (int i = 0; i < env->count; i++) {
        env->drones[i] = (Drone){2.0f * roll(&env->rng) - 1.0f, 0.0f, 0.0f, 0.0f};
        env->observations[i * OBS_SIZE + 5] = env->bx;
        env->observations[i * OBS_SIZE + 6] = env->by;
    }
    env->tick = 0;
    observe(env);
}

void c_step(Drones* env) {
    env->tick++;
    bool late = (float)env->tick >= env->limit, crash = false;
    for (int i = 0; i < env->count; i++) {
        Drone* d = &env->drones[i];
        d->vx = 0.95f * d->vx + 0.01f * fmaxf(-1.0f, fminf(1.0f, env->actions[2 * i]));
        d->vy = 0.95f * d->vy + 0.01f * fmaxf(-1.0f, fminf(1.0f, env->actions[2 * i + 1]));
        d->x += d->vx;
        d->y += d->vy;
        crash = crash || fabsf(d->x) > 1.5f || fabsf(d->y) > 1.5f;
        env->rewards[i] = hypotf(d->x - env->bx, d->y - env->by) < 0.2f ? 0.1f : 0.0f;
        env->log.score += env->rewards[i];
    }
    for (int i = 0; i < env->count; i++) {
        env->terminals[i] = late || crash ? 1.0f : 0.0f;
        env->truncations[i] = late && !crash ? 1.0f : 0.0f;
    }
    if (late || crash) {
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Drones* env) {
#ifndef PUFFER_DEVICE
    if (!IsWindowReady()) InitWindow(400, 400, "drones");
    if (!env->sprite) env->sprite = calloc(1, sizeof(Texture2D));
    BeginDrawing();
    ClearBackground(BLACK);
    for (int i = 0; i < env->count; i++) {
        DrawCircle((int)(200 + 130 * env->drones[i].x), (int)(200 + 130 * env->drones[i].y), 5, RED);
    }
    EndDrawing();
#endif
}

void c_close(Drones* env) {
    free(env->drones);
    free(env->sprite);
    if (IsWindowReady()) CloseWindow();
}
