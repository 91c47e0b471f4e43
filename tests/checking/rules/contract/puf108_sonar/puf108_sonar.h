// expect: PUF108
// A submarine finds wrecks by sonar. Fault: the number of pings, which the drawing shows, is
// counted in a static variable of c_step: one for all submarines, on all threads.
#pragma once
#include <math.h>
#include <string.h>
#include "raylib.h"

#define RANGE 24
#define OBS_SIZE (RANGE + 1)
#define ACT_SIZES {4}

typedef struct {
    float perf;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int place, wreck, heading, tick;
} Sonar;

static const unsigned char echo_by_distance[8] = {200, 200, 200, 90, 90, 90, 90, 90};

int* sonar_pings(void) {
    static int pings;
    return &pings;
}

static int draw(Sonar* s) { return (int)((s->rng = s->rng * 69069u + 1u) >> 16) % RANGE; }

static void listen(Sonar* s) {
    memset(s->observations, 0, OBS_SIZE);
    int away = s->wreck > s->place ? s->wreck - s->place : s->place - s->wreck;
    if (away < 8) s->observations[s->wreck] = echo_by_distance[away];
    s->observations[s->place] = 254;
    s->observations[RANGE] = (unsigned char)(100 + s->heading * 50);
}

void c_reset(Sonar* s) {
    s->place = draw(s);
    do { s->wreck = draw(s); } while (s->wreck == s->place);
    s->heading = 1;
    s->tick = 0;
    listen(s);
}

void c_step(Sonar* s) {
    s->rewards[0] = -0.01f;
    s->terminals[0] = 0.0f;
    s->tick++;
    switch ((int)s->actions[0]) {
        case 0: s->heading = -1; break;
        case 1: s->heading = 1; break;
        case 2: s->place += s->heading; break;
        case 3: s->place += 2 * s->heading; (*sonar_pings())++; break;
    }
    if (s->place < 0) s->place = 0;
    if (s->place >= RANGE) s->place = RANGE - 1;
    if (s->place == s->wreck || s->tick >= 80) {
        int found = s->place == s->wreck;
        s->rewards[0] = found ? 1.0f : -1.0f;
        s->terminals[0] = 1.0f;
        s->log.perf += (float)found;
        s->log.episode_return += s->rewards[0] - 0.01f * (float)(s->tick - 1);
        s->log.episode_length += (float)s->tick;
        s->log.n += 1.0f;
        c_reset(s);
        return;
    }
    listen(s);
}

void c_render(Sonar* s) {
    static bool open = false;
    if (!open) { InitWindow(480, 120, "sonar"); open = true; }
    BeginDrawing();
    DrawText(TextFormat("%d pings, at %d", *sonar_pings(), s->place), 10, 10, 20, BLACK);
    EndDrawing();
}

void c_close(Sonar* s) {
    (void)s;
    if (IsWindowReady()) CloseWindow();
}
