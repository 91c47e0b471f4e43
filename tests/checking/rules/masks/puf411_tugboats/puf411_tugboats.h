// expect: PUF411
// Tugboats pull a ship to its berth: a direction and a force each. All of them read the
// direction; the force is read from the wrong place, so it is a copy of the direction.
#pragma once
#include <math.h>

#define OBS_SIZE 4
#define ACT_SIZES {3, 4}
#define HEADS 2

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Tugboats {
    Log log;
    float* observations;        // (boats, 4) x, y, vx of the ship, place in the line
    float* actions;             // (boats, 2) direction, force
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int boats;
    float x, y, vx, vy, total;
    int tick;
} Tugboats;

static float chance(Tugboats* t) {
    t->rng = t->rng * 22695477u + 1u;
    return (float)(t->rng >> 9) / 8388608.0f;
}

void init(Tugboats* t) { t->num_agents = t->boats; }

static void report_place(Tugboats* t) {
    for (int i = 0; i < t->num_agents; i++) {
        float* o = &t->observations[i * OBS_SIZE];
        o[0] = t->x;
        o[1] = t->y;
        o[2] = 4.0f * t->vx;
        o[3] = (float)(i + 1) / (float)t->num_agents;
    }
}

void c_reset(Tugboats* t) {
    t->x = 2.0f * chance(t) - 1.0f;
    t->y = 0.5f + 0.5f * chance(t);
    t->vx = t->vy = t->total = 0.0f;
    t->tick = 0;
    report_place(t);
}

void c_step(Tugboats* t) {
    t->tick++;
    for (int i = 0; i < t->num_agents; i++) {
        float side = t->actions[HEADS * i] - 1.0f;
        float force = t->actions[HEADS * i] / 3.0f;     // + 1 was forgotten
        t->vx += 0.004f * side * (0.5f + force);
        t->vy -= 0.001f * force;
    }
    t->x += t->vx;
    t->y += t->vy;
    float pay = -0.01f * fabsf(t->x);
    int ashore = fabsf(t->x) > 1.5f, berthed = t->y <= 0.0f;
    int over = ashore || berthed || t->tick == 200;
    if (berthed) pay += 1.0f - fabsf(t->x);
    t->total += pay;
    for (int i = 0; i < t->num_agents; i++) {
        t->rewards[i] = pay;
        t->terminals[i] = (float)over;
    }
    if (over) {
        t->log.perf += (float)(berthed && fabsf(t->x) < 0.2f);
        t->log.score += t->total;
        t->log.episode_return += t->total;
        t->log.episode_length += (float)t->tick;
        t->log.n++;
        c_reset(t);
        return;
    }
    report_place(t);
}

void c_render(Tugboats* t) { (void)t; }
void c_close(Tugboats* t) { (void)t; }
