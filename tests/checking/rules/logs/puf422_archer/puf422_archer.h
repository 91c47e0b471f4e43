// expect: PUF422
// An archer adjusts to the wind. Fault: the tick is counted after the episode was logged, so that
// lengths are one short.
#pragma once
#include <math.h>
#define OBS_SIZE 3
#define ACT_SIZES {5}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Archer {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float wind, aim, last;
    float sum;
    int tick;
} Archer;

static float gust(Archer* a) {
    a->rng = a->rng * 1664525u + 1013904223u;
    return 2.0f * (float)(a->rng >> 8) / 16777216.0f - 1.0f;
}

static void see(Archer* a) {
    a->observations[0] = a->wind;
    a->observations[1] = a->aim;
    a->observations[2] = a->last;
}

void c_reset(Archer* a) {
    a->wind = gust(a);
    a->aim = 0.0f;
    a->last = 0.0f;
    a->sum = 0.0f;
    a->tick = 0;
    see(a);
}

static void add_log(Archer* a, int hit) {
    a->log.perf += (float)hit;
    a->log.score += a->sum;
    a->log.episode_return += a->sum;
    a->log.episode_length += (float)a->tick;
    a->log.n += 1.0f;
}

void c_step(Archer* a) {
    a->aim += 0.25f * (a->actions[0] - 2.0f);
    a->wind = 0.95f * a->wind + 0.05f * gust(a);
    a->last = a->aim + a->wind + 0.2f * gust(a);
    int hit = fabsf(a->last) < 0.05f, over = hit || fabsf(a->aim) > 2.0f || a->tick >= 60;
    a->rewards[0] = hit ? 1.0f : -0.01f;
    a->terminals[0] = over ? 1.0f : 0.0f;
    a->sum += a->rewards[0];
    if (over) {
        add_log(a, hit);
        c_reset(a);
        return;
    }
    a->tick++;
    see(a);
}

void c_render(Archer* a) { (void)a; }
void c_close(Archer* a) { (void)a; }
