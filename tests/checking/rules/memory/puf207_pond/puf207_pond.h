// expect: PUF207
// A frog hops over lily pads. Fault: c_close was written for the standalone program, which allocates
// the buffers itself, and frees them.
#pragma once
#include <stdlib.h>
#include <string.h>

#define PADS 12
#define OBS_SIZE (PADS + 1)
#define ACT_SIZES {3}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Pond {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    unsigned char* pads;    // (PADS) 1 where a pad floats
    int frog, tick;
} Pond;

static int roll(Pond* pond, int sides) {
    pond->rng = pond->rng * 1664525u + 1013904223u;
    return (int)((pond->rng >> 16) % (unsigned int)sides);
}

void init(Pond* pond) { pond->pads = (unsigned char*)calloc(PADS, 1); }

static void show(Pond* pond) {
    memcpy(pond->observations, pond->pads, PADS);
    pond->observations[PADS] = (unsigned char)pond->frog;
}

void c_reset(Pond* pond) {
    for (int i = 0; i < PADS; i++) pond->pads[i] = roll(pond, 4) > 0;
    pond->pads[0] = 1;
    pond->frog = pond->tick = 0;
    show(pond);
}

static void end(Pond* pond, float reward) {
    pond->rewards[0] = reward;
    pond->terminals[0] = 1.0f;
    pond->log.perf += reward > 0.0f;
    pond->log.score += (float)pond->frog;
    pond->log.episode_return += reward;
    pond->log.episode_length += (float)pond->tick;
    pond->log.n += 1.0f;
    c_reset(pond);
}

void c_step(Pond* pond) {
    pond->rewards[0] = 0.0f;
    pond->terminals[0] = 0.0f;
    pond->frog += (int)pond->actions[0];            // wait, hop, leap
    pond->tick++;
    if (pond->frog >= PADS) {
        pond->frog = PADS;
        end(pond, 1.0f);
    } else if (!pond->pads[pond->frog] || pond->tick >= 80) {
        end(pond, -1.0f);
    } else {
        int drifts = 1 + roll(pond, PADS - 1);
        if (drifts != pond->frog) pond->pads[drifts] ^= 1;
        show(pond);
    }
}

void c_render(Pond* pond) { (void)pond; }

void c_close(Pond* pond) {
    free(pond->pads);
    free(pond->observations);
    free(pond->actions);
    free(pond->rewards);
    free(pond->terminals);
}
