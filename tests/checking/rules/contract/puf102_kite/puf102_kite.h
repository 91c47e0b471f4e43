// expect: PUF102
/* Kite: hold a kite in the wind. Fault: actions are declared as integers. */
#pragma once
#include <stdlib.h>

#define OBS_SIZE 1
#define ACT_SIZES {2}

typedef struct { float score; float n; } Log;

typedef struct {
    Log log;
    float* observations;
    int* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float height;
    int age;
} Kite;

void c_reset(Kite* k) {
    k->height = 0.5f;
    k->age = 0;
    k->observations[0] = k->height;
}

void c_step(Kite* k) {
    k->rng = k->rng * 22695477u + 1u;
    float gust = (float)((k->rng >> 16) & 255) / 2550.0f;
    k->height += (k->actions[0] ? 0.05f : -0.05f) + gust - 0.05f;
    k->rewards[0] = 0.01f;
    k->terminals[0] = 0;
    if (k->height < 0 || k->height > 1 || ++k->age == 200) {
        k->terminals[0] = 1;
        k->log.score += (float)k->age;
        k->log.n++;
        c_reset(k);
    }
    k->observations[0] = k->height;
}

void c_render(Kite* k) { (void)k; }
void c_close(Kite* k) { (void)k; }
