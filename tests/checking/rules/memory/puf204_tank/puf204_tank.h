// expect: PUF204
// Steer a tank to a flag. Fault: it reads a second action, and ACT_SIZES declares only one head.
#pragma once
#include <math.h>
#define OBS_SIZE 4
#define ACT_SIZES {3}

typedef struct Log { float perf; float n; } Log;

typedef struct Tank {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float x, y, heading, fx, fy;
    int tick;
} Tank;

static float tank_draw(Tank* t) {
    t->rng = t->rng * 1664525u + 1013904223u;
    return (float)(t->rng >> 8) / 8388608.0f - 1.0f;
}

static void tank_observe(Tank* t) {
    t->observations[0] = t->fx - t->x;
    t->observations[1] = t->fy - t->y;
    t->observations[2] = cosf(t->heading);
    t->observations[3] = sinf(t->heading);
}

void c_reset(Tank* t) {
    t->x = t->y = t->heading = 0;
    t->fx = tank_draw(t);
    t->fy = tank_draw(t);
    t->tick = 0;
    tank_observe(t);
}

void c_step(Tank* t) {
    float turn = t->actions[0] - 1.0f;
    float gas = t->actions[1] > 0.0f ? 0.05f : 0.02f;
    t->heading += 0.3f * turn;
    t->x += gas * cosf(t->heading);
    t->y += gas * sinf(t->heading);
    t->tick++;
    int hit = hypotf(t->fx - t->x, t->fy - t->y) < 0.1f;
    int over = hit || t->tick >= 80;
    t->rewards[0] = hit ? 1.0f : 0.0f;
    t->terminals[0] = over ? 1.0f : 0.0f;
    if (over) {
        t->log.perf += hit;
        t->log.n += 1;
        c_reset(t);
    } else {
        tank_observe(t);
    }
}

void c_render(Tank* t) { (void)t; }
void c_close(Tank* t) { (void)t; }
