// expect: PUF302
// A traffic light with four phases. Fault: the one-hot of the phase is set but never cleared, so
// that after a while every phase seems to be on.
#pragma once
#include <string.h>

enum { OBS_QUEUE_NS, OBS_QUEUE_EW, OBS_CLOCK, OBS_WAIT, OBS_RAIN, OBS_PHASE, OBS_SIZE = OBS_PHASE + 4 };
#define OBS_SIZE OBS_SIZE
#define ACT_SIZES {2}
typedef struct Log {
    float score;
    float episode_length;
    float n;
} Log;
static inline float roll(unsigned int* rng) {      // [0, 1)
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

typedef struct Traffic {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float ns, ew, rain, wait;
    int phase, tick;
} Traffic;

static void observe(Traffic* t) {
    t->observations[OBS_QUEUE_NS] = t->ns / 20.0f;
    t->observations[OBS_QUEUE_EW] = t->ew / 20.0f;
    t->observations[OBS_CLOCK] = (float)t->tick / 120.0f;
    t->observations[OBS_WAIT] = t->wait / 20.0f;
    t->observations[OBS_RAIN] = t->rain;
    t->observations[OBS_PHASE + t->phase] = 1.0f;
}

void c_reset(Traffic* t) {
    memset(t->observations, 0, OBS_SIZE * sizeof(float));
    t->ns = 5.0f * roll(&t->rng);
    t->ew = 5.0f * roll(&t->rng);
    t->rain = roll(&t->rng);
    t->wait = 0.0f;
    t->phase = t->tick = 0;
    observe(t);
}

void c_step(Traffic* t) {
    if (t->actions[0] > 0.5f) {
        t->phase = (t->phase + 1) % 4;
        t->wait = 0.0f;
    }
    t->wait += 1.0f;
    t->ns += roll(&t->rng) - (t->phase == 0 && t->ns > 1.0f ? 1.0f : 0.0f);
    t->ew += roll(&t->rng) - (t->phase == 2 && t->ew > 1.0f ? 1.0f : 0.0f);
    t->rewards[0] = -0.01f * (t->ns + t->ew);
    t->terminals[0] = ++t->tick >= 60 ? 1.0f : 0.0f;
    if (t->terminals[0]) {
        t->log.score -= t->ns + t->ew;
        t->log.episode_length += (float)t->tick;
        t->log.n += 1.0f;
        c_reset(t);
        return;
    }
    observe(t);
}

void c_render(Traffic* t) { (void)t; }
void c_close(Traffic* t) { (void)t; }
