// expect: PUF302
// A plough turns furrows. The observation is written before the new day begins, so the first
// one of each episode shows the evening before.
#pragma once
#include <math.h>

#define OBS_SIZE 4
#define ACT_SIZES {3}

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Plough {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float field;
    float x, y, heading;
    int furrows;
} Plough;

static float rnd(Plough* p) {
    p->rng = p->rng * 1664525u + 1013904223u;
    return (float)(p->rng >> 8) / 16777216.0f;
}

static void see(Plough* p) {
    p->observations[0] = p->x / p->field;
    p->observations[1] = p->y / p->field;
    p->observations[2] = sinf(p->heading);
    p->observations[3] = (float)p->furrows / 64.0f;
}

static void morning(Plough* p) {
    p->x = p->field * (0.4f + 0.2f * rnd(p));
    p->y = 0.1f * p->field;
    p->heading = 0.3f * (rnd(p) - 0.5f);
    p->furrows = 0;
}

void c_reset(Plough* p) { morning(p); see(p); }

void c_step(Plough* p) {
    p->heading += 0.2f * (p->actions[0] - 1.0f);
    p->x += 0.2f * sinf(p->heading);
    p->y += 0.2f * cosf(p->heading);
    p->furrows++;
    int home = p->y >= p->field;
    int lost = p->x < 0.0f || p->x > p->field || p->y < 0.0f || p->furrows == 64;
    p->rewards[0] = home ? 1.0f : lost ? -0.5f : 0.01f;
    p->terminals[0] = home || lost ? 1.0f : 0.0f;
    see(p);
    if (home || lost) {
        p->log.perf += home;
        p->log.score += home;
        p->log.episode_return += p->rewards[0] + 0.01f * (float)(p->furrows - 1);
        p->log.episode_length += (float)p->furrows;
        p->log.n++;
        morning(p);
    }
}

void c_render(Plough* p) { (void)p; }
void c_close(Plough* p) { (void)p; }
