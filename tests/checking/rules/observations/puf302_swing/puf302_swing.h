// expect: PUF302
// Pump a swing as high as it goes. Coasting (action 0) returns before the velocity is shown.
#pragma once
#include <math.h>

#define OBS_SIZE 3
#define ACT_SIZES {3}

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Swing {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float angle, velocity, highest, sum;
    int tick, limit;
} Swing;

static float toss(Swing* s) {
    s->rng = s->rng * 134775813u + 1u;
    return (float)(s->rng >> 9) / 8388608.0f - 0.5f;
}

void c_reset(Swing* s) {
    s->angle = toss(s);
    s->velocity = toss(s);
    s->highest = s->sum = 0.0f;
    s->tick = 0;
    s->limit = 100 + (int)(40.0f * toss(s));
    s->observations[0] = s->angle;
    s->observations[1] = s->velocity;
    s->observations[2] = 0.0f;
}

void c_step(Swing* s) {
    int push = (int)s->actions[0];
    float pump = push == 2 ? 0.05f : push == 1 ? -0.05f : 0.0f;
    s->velocity += pump - 0.05f * sinf(s->angle) - 0.005f * s->velocity;
    s->angle += 0.3f * s->velocity;
    s->tick++;
    float height = 1.0f - cosf(s->angle);
    s->rewards[0] = height > s->highest ? height - s->highest : 0.0f;
    s->sum += s->rewards[0];
    if (height > s->highest) s->highest = height;
    s->terminals[0] = 0.0f;
    if (s->tick >= s->limit || fabsf(s->angle) > 3.0f) {
        s->terminals[0] = 1.0f;
        s->log.perf += s->highest / 2.0f;
        s->log.score += s->highest;
        s->log.episode_return += s->sum;
        s->log.episode_length += (float)s->tick;
        s->log.n += 1.0f;
        c_reset(s);
        return;
    }
    s->observations[0] = s->angle;
    s->observations[2] = (float)s->tick / 128.0f;
    if (push == 0) return;
    s->observations[1] = s->velocity;
}

void c_render(Swing* s) { (void)s; }
void c_close(Swing* s) { (void)s; }
