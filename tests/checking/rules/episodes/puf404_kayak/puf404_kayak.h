// expect: PUF404
// Paddle a kayak to the buoy. Fault: c_reset forgets how fast the kayak was.
#pragma once
#include <math.h>

#define OBS_SIZE 3
#define ACT_SIZES {3}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Kayak {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float width;
    float place, speed, buoy;
    int tick;
} Kayak;

static float uniform(Kayak* k) {
    k->rng = k->rng * 747796405u + 2891336453u;
    return (float)(k->rng >> 8) / 16777216.0f;
}

static void observe(Kayak* k) {
    k->observations[0] = k->place / k->width;
    k->observations[1] = k->speed;
    k->observations[2] = (k->buoy - k->place) / k->width;
}

void c_reset(Kayak* k) {
    k->place = 0.0f;
    k->buoy = (uniform(k) - 0.5f) * k->width;
    k->tick = 0;
    observe(k);
}

void c_step(Kayak* k) {
    k->speed = 0.9f * k->speed + 0.1f * (k->actions[0] - 1.0f);
    k->place += k->speed;
    k->tick++;
    int there = fabsf(k->buoy - k->place) < 0.4f;
    int lost = fabsf(k->place) > k->width || k->tick > 120;
    k->rewards[0] = there ? 1.0f : lost ? -1.0f : 0.0f;
    k->terminals[0] = there || lost;
    if (there || lost) {
        k->log.perf += (float)there;
        k->log.score += k->rewards[0];
        k->log.episode_return += k->rewards[0];
        k->log.episode_length += (float)k->tick;
        k->log.n++;
        c_reset(k);
        return;
    }
    observe(k);
}

void c_render(Kayak* k) { (void)k; }
void c_close(Kayak* k) { (void)k; }
