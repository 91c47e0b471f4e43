// expect: PUF302
// Skate along a frozen canal without falling in: the new round begins, but nobody looks at it.
#pragma once
#include "raylib.h"

#define OBS_SIZE 3
#define ACT_SIZES {3}
#define CANAL 1.0f

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Skater {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float place, drift;
    int tick;
} Skater;

static float gust(Skater* s) {
    s->rng = s->rng * 1664525u + 1013904223u;
    return (float)(s->rng >> 8) / 8388608.0f - 1.0f;
}

static void look(Skater* s) {
    s->observations[0] = s->place;
    s->observations[1] = s->drift;
    s->observations[2] = (float)s->tick / 64.0f;
}

static void new_round(Skater* s) {
    s->place = 0.3f * gust(s);
    s->drift = 0.05f * gust(s);
    s->tick = 0;
}

void c_reset(Skater* s) {
    new_round(s);
    look(s);
}

void c_step(Skater* s) {
    s->drift += 0.02f * (s->actions[0] - 1.0f) + 0.01f * gust(s);
    s->place += s->drift;
    s->tick++;
    int wet = s->place < -CANAL || s->place > CANAL;
    int home = s->tick == 64;
    s->rewards[0] = wet ? -1.0f : home ? 1.0f : 0.0f;
    s->terminals[0] = wet || home;
    if (wet || home) {
        s->log.perf += (float)home;
        s->log.score += s->rewards[0];
        s->log.episode_return += s->rewards[0];
        s->log.episode_length += (float)s->tick;
        s->log.n += 1.0f;
        new_round(s);
        return;             // the observation still shows the canal that was left
    }
    look(s);
}

void c_render(Skater* s) {
    if (!IsWindowReady()) InitWindow(400, 100, "skater");
    BeginDrawing();
    ClearBackground(RAYWHITE);
    DrawCircle((int)(200.0f + 180.0f * s->place), 50, 6.0f, DARKBLUE);
    EndDrawing();
}

void c_close(Skater* s) { (void)s; }
