// expect: PUF401
// A lift takes a passenger where he wants to go. A wrong door ends the episode and starts a new
// one; the right door ends it as well, and leaves everything as it is.
#pragma once
#include <string.h>

#define OBS_SIZE 12
#define ACT_SIZES {3}

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Lifts {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int floors;             // at most 6
    int floor, wanted, tick;
} Lifts;

void init(Lifts* l) {
    if (l->floors > 6) l->floors = 6;
}

static void show(Lifts* l) {
    memset(l->observations, 0, OBS_SIZE * sizeof(float));
    l->observations[l->floor] = 1.0f;
    l->observations[6 + l->wanted] = 1.0f;
}

void c_reset(Lifts* l) {
    l->rng = l->rng * 1103515245u + 12345u;
    l->wanted = 1 + (int)((l->rng >> 16) % (unsigned)(l->floors - 1));
    l->floor = 0;
    l->tick = 0;
    show(l);
}

static void note(Lifts* l, float perf) {
    l->log.perf += perf;
    l->log.score += perf;
    l->log.episode_return += l->rewards[0];
    l->log.episode_length += (float)l->tick;
    l->log.n += 1.0f;
}

void c_step(Lifts* l) {
    int action = (int)l->actions[0];
    l->tick++;
    l->rewards[0] = l->terminals[0] = 0.0f;
    if (action == 0 && l->floor + 1 < l->floors) l->floor++;
    if (action == 1 && l->floor > 0) l->floor--;
    if (action == 2 && l->floor == l->wanted) {
        l->rewards[0] = l->terminals[0] = 1.0f;
        note(l, 1.0f);
    } else if (action == 2 || l->tick > 60) {
        l->rewards[0] = -1.0f;
        l->terminals[0] = 1.0f;
        note(l, 0.0f);
        c_reset(l);
    }
    show(l);
}

void c_render(Lifts* l) { (void)l; }
void c_close(Lifts* l) { (void)l; }
