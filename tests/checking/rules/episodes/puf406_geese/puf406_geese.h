// expect: PUF406
// Four geese race across a pond. When one arrives the race is over for all of them, but only
// the winner is told so.
#pragma once
#include <math.h>

#define GEESE 4
#define OBS_SIZE 5
#define ACT_SIZES {1}

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Goose { float x, wind; } Goose;

typedef struct Geese {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float pond;             // width
    Goose flock[GEESE];
    int tick;
} Geese;

static float noise(Geese* g) {
    g->rng ^= g->rng << 13;
    g->rng ^= g->rng >> 17;
    g->rng ^= g->rng << 5;
    return (float)(g->rng & 0xFFFF) / 65536.0f;
}

void init(Geese* g) { g->num_agents = GEESE; }

static void observe(Geese* g) {
    for (int i = 0; i < GEESE; i++) {
        float* o = g->observations + i * OBS_SIZE;
        for (int j = 0; j < GEESE; j++) o[j] = (g->flock[j].x - g->flock[i].x) / g->pond;
        o[GEESE] = g->flock[i].x / g->pond;
    }
}

void c_reset(Geese* g) {
    if (g->rng == 0) g->rng = 1;
    for (int i = 0; i < GEESE; i++) g->flock[i] = (Goose){noise(g), noise(g) - 0.5f};
    g->tick = 0;
    observe(g);
}

void c_step(Geese* g) {
    int winner = -1;
    g->tick++;
    for (int i = 0; i < GEESE; i++) {
        Goose* goose = &g->flock[i];
        g->rewards[i] = 0.0f;
        g->terminals[i] = 0.0f;
        goose->wind += 0.2f * (noise(g) - 0.5f);
        float stroke = fmaxf(-1.0f, fminf(1.0f, g->actions[i]));
        goose->x = fmaxf(0.0f, goose->x + 0.3f * (1.0f - fabsf(stroke - goose->wind)));
        if (goose->x >= g->pond && winner < 0) winner = i;
    }
    if (winner >= 0) {
        g->rewards[winner] = 1.0f;
        g->terminals[winner] = 1.0f;
        g->log.perf += 1.0f;
        g->log.score += 1.0f;
        g->log.episode_return += 1.0f;
        g->log.episode_length += (float)g->tick;
        g->log.n += 1.0f;
        c_reset(g);
        return;
    }
    observe(g);
}

void c_render(Geese* g) { (void)g; }
void c_close(Geese* g) { (void)g; }
