// expect: PUF109 PUF501
// Press your luck with a die. Fault: each episode is seeded from the clock.
#pragma once
#include <stdlib.h>
#include <time.h>
#define OBS_SIZE 3
#define ACT_SIZES {2}

typedef struct Log { float score; float episode_length; float n; } Log;

typedef struct Dice {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int pot, banked, turn;
} Dice;

static int throw_die(Dice* d) {
    d->rng = d->rng * 1103515245u + 12345u;
    return 1 + (int)((d->rng >> 16) % 6);
}

static void tell(Dice* d) {
    d->observations[0] = (float)d->pot / 20.0f;
    d->observations[1] = (float)d->banked / 100.0f;
    d->observations[2] = (float)d->turn / 40.0f;
}

void c_reset(Dice* d) {
    d->rng ^= (unsigned int)time(NULL);
    d->pot = d->banked = d->turn = 0;
    tell(d);
}

void c_step(Dice* d) {
    d->rewards[0] = 0;
    d->terminals[0] = 0;
    d->turn++;
    if (d->actions[0] == 1) {
        d->rewards[0] = (float)d->pot / 20.0f;
        d->banked += d->pot;
        d->pot = 0;
    } else {
        int eyes = throw_die(d);
        d->pot = eyes == 1 ? 0 : d->pot + eyes;
        if (d->pot > 20) d->pot = 20;
    }
    if (d->turn == 40) {
        d->terminals[0] = 1;
        d->log.score += d->banked;
        d->log.episode_length += d->turn;
        d->log.n++;
        c_reset(d);
        return;
    }
    tell(d);
}

void c_render(Dice* d) { (void)d; }
void c_close(Dice* d) { (void)d; }
