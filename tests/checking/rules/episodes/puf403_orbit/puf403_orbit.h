// expect: PUF403
// Hold a satellite in its orbit, with continuous thrust, for 500 ticks. Fault: nothing but the
// clock ends an episode, and all clocks start at 0.
#pragma once
#include <math.h>
#define OBS_SIZE 4
#define ACT_SIZES {1}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Orbit {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    int num_agents;
    unsigned int rng;
    int max_ticks;              // [env]
    float radius, speed, phase, drag, sum;
    int tick;
} Orbit;

static float rolled(Orbit* o) {
    o->rng = o->rng * 1664525u + 1013904223u;
    return 2.0f * (float)(o->rng >> 8) / 16777216.0f - 1.0f;
}

static void observe(Orbit* o) {
    o->observations[0] = o->radius;
    o->observations[1] = 10.0f * o->speed;
    o->observations[2] = sinf(o->phase);
    o->observations[3] = cosf(o->phase);
}

void c_reset(Orbit* o) {
    o->radius = 0.2f * rolled(o);
    o->speed = 0.0f;
    o->phase = 3.0f * rolled(o);
    o->drag = 0.002f * rolled(o);
    o->sum = 0.0f;
    o->tick = 0;
    observe(o);
}

void c_step(Orbit* o) {
    float thrust = fmaxf(-1.0f, fminf(1.0f, o->actions[0]));
    o->speed = 0.98f * o->speed + 0.005f * thrust + o->drag * sinf(o->phase);
    o->radius = fmaxf(-1.0f, fminf(1.0f, o->radius + o->speed));
    o->phase = remainderf(o->phase + 0.1f, 6.2831853f);
    o->rewards[0] = 0.01f * (1.0f - fabsf(o->radius));
    o->terminals[0] = o->truncations[0] = 0.0f;
    o->sum += o->rewards[0];
    if (++o->tick >= o->max_ticks) {
        o->terminals[0] = o->truncations[0] = 1.0f;
        o->log.perf += o->sum / (0.01f * (float)o->max_ticks);
        o->log.score += o->sum;
        o->log.episode_return += o->sum;
        o->log.episode_length += (float)o->tick;
        o->log.n += 1.0f;
        c_reset(o);
        return;
    }
    observe(o);
}

void c_render(Orbit* o) { (void)o; }
void c_close(Orbit* o) { (void)o; }
