// expect: PUF302
// Glide as far as the thermals carry. Fault: the speed is written to the observation when an
// episode begins, and never again.
#pragma once
#include <math.h>
#define OBS_SIZE 4
#define ACT_SIZES {1}
typedef struct Log {
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;
static inline float roll(unsigned int* rng) {      // [0, 1)
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

typedef struct Glider {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    int num_agents;
    unsigned int rng;
    float height, speed, lift, distance;
    int tick;
} Glider;

static void observe(Glider* g) {
    g->observations[0] = g->height;
    g->observations[1] = g->lift;
    g->observations[3] = fminf(g->distance / 100.0f, 2.0f);
}

void c_reset(Glider* g) {
    g->height = 1.0f;
    g->speed = 0.5f + 0.5f * roll(&g->rng);
    g->lift = roll(&g->rng) - 0.5f;
    g->distance = 0.0f;
    g->tick = 0;
    g->observations[2] = g->speed;
    observe(g);
}

void c_step(Glider* g) {
    float pitch = fmaxf(-1.0f, fminf(1.0f, g->actions[0]));
    g->speed = fmaxf(0.1f, fminf(2.0f, g->speed - 0.05f * pitch));
    g->height += 0.02f * pitch * g->speed + 0.01f * g->lift - 0.005f;
    g->lift = 0.95f * g->lift + 0.1f * (roll(&g->rng) - 0.5f);
    g->distance += g->speed;
    g->tick++;
    int down = g->height <= 0.0f, late = g->tick >= 200;
    g->rewards[0] = 0.01f * g->speed;
    g->terminals[0] = down || late;
    g->truncations[0] = late && !down;
    if (down || late) {
        g->log.score += g->distance;
        g->log.episode_return += 0.01f * g->distance;
        g->log.episode_length += (float)g->tick;
        g->log.n += 1.0f;
        c_reset(g);
    } else {
        observe(g);
    }
}

void c_render(Glider* g) { (void)g; }
void c_close(Glider* g) { (void)g; }
