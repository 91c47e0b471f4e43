// expect: PUF401
// Two fencers on a strip. Fault: a hit ends the bout and is logged, but nobody calls c_reset.
#pragma once
#include <string.h>
#define OBS_SIZE 4
#define ACT_SIZES {3, 2}
typedef struct Log {
    float perf;
    float episode_length;
    float n;
} Log;

typedef struct Duel {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int pos[2], stamina[2], tick;
} Duel;

void init(Duel* d) { d->num_agents = 2; }

static void observe(Duel* d) {
    for (int i = 0; i < 2; i++) {
        float* o = d->observations + i * OBS_SIZE;
        o[0] = (float)d->pos[i] / 10.0f;
        o[1] = (float)(d->pos[1 - i] - d->pos[i]) / 10.0f;
        o[2] = (float)d->stamina[i] / 10.0f;
        o[3] = (float)d->stamina[1 - i] / 10.0f;
    }
}

void c_reset(Duel* d) {
    d->rng = d->rng * 1664525u + 1013904223u;
    d->pos[0] = -4 + (int)(d->rng >> 31);
    d->pos[1] = 4;
    d->stamina[0] = d->stamina[1] = 10;
    d->tick = 0;
    observe(d);
}

void c_step(Duel* d) {
    d->tick++;
    int hit = -1;
    for (int i = 0; i < 2; i++) {
        d->rewards[i] = d->terminals[i] = 0;
        int move = (int)d->actions[2 * i] - 1;
        if (d->pos[i] + move >= -8 && d->pos[i] + move <= 8) d->pos[i] += move;
        int gap = d->pos[1] - d->pos[0];
        if (d->actions[2 * i + 1] == 1 && d->stamina[i] > 0) {
            d->stamina[i]--;
            if (gap <= 2 && gap >= -2) hit = i;
        } else if (d->stamina[i] < 10) {
            d->stamina[i]++;
        }
    }
    if (hit >= 0 || d->tick % 200 == 0) {
        if (hit >= 0) { d->rewards[hit] = 1; d->rewards[1 - hit] = -1; }
        d->terminals[0] = d->terminals[1] = 1;
        d->log.perf += hit == 0;
        d->log.episode_length += d->tick;
        d->log.n++;
    }
    observe(d);
}

void c_render(Duel* d) { (void)d; }
void c_close(Duel* d) { (void)d; }
