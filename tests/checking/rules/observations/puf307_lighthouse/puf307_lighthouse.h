// expect: PUF307
/* Keep a lamp lit through the night and save oil. Fault: a night has 400 ticks, and the clock is
 * shown as one byte: after 255 it is evening again. */
#pragma once
#include <stdint.h>
#include <stdlib.h>

typedef struct { float score, episode_return, episode_length, n; } Log;

typedef struct {
    Log log;
    uint8_t* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int tick, oil, ship, night;
    float total;
} Lighthouse;

void light_see(Lighthouse* l) {
    l->observations[0] = l->tick;
    l->observations[1] = l->oil;
    l->observations[2] = l->ship;
}

void c_reset(Lighthouse* l) {
    l->tick = 0;
    l->oil = 200;
    l->ship = 0;
    l->night = 300 + rand_r(&l->rng) % 100;
    l->total = 0;
    light_see(l);
}

void c_step(Lighthouse* l) {
    int lit = l->actions[0] == 1 && l->oil > 0;
    l->oil -= lit;
    l->rewards[0] = l->ship > 0 ? (lit ? 0.1f : -0.1f) : 0;
    l->ship = l->ship > 0 ? l->ship - 1 : rand_r(&l->rng) % 12 == 0 ? 9 : 0;
    l->total += l->rewards[0];
    l->terminals[0] = ++l->tick == l->night;
    if (l->terminals[0]) {
        l->log.score += l->total;
        l->log.episode_return += l->total;
        l->log.episode_length += l->tick;
        l->log.n++;
        c_reset(l);
    }
    light_see(l);
}

void c_render(Lighthouse* l) { (void)l; }
void c_close(Lighthouse* l) { (void)l; }
