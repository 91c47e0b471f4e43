// expect: PUF301
// Three wolves hunt a deer on a byte grid. Fault: the loop that writes the views stops one wolf
// early, in c_reset and in c_step alike, so the last wolf is blind.
#pragma once
#include <string.h>

#define N 9
#define WOLVES 3
#define OBS_SIZE 6
#define ACT_SIZES {5}

typedef struct { float perf, episode_return, episode_length, n; } Log;

typedef struct {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned rng;
    int x[WOLVES + 1], y[WOLVES + 1];       // the last one is the deer
    int tick;
} Wolves;

static int wolves_draw(Wolves* w, int n) {
    w->rng = w->rng * 1664525u + 1013904223u;
    return (int)((w->rng >> 16) % (unsigned)n);
}

void init(Wolves* w) { w->num_agents = WOLVES; }

void wolves_look(Wolves* w) {
    for (int i = 0; i < WOLVES - 1; i++) {
        unsigned char* o = w->observations + i * OBS_SIZE;
        o[0] = (unsigned char)w->x[i];
        o[1] = (unsigned char)w->y[i];
        o[2] = (unsigned char)w->x[WOLVES];
        o[3] = (unsigned char)w->y[WOLVES];
        o[4] = (unsigned char)i;
        o[5] = (unsigned char)(w->tick / 10);
    }
}

void c_reset(Wolves* w) {
    for (int i = 0; i <= WOLVES; i++) { w->x[i] = wolves_draw(w, N); w->y[i] = wolves_draw(w, N); }
    w->tick = 0;
    wolves_look(w);
}

void c_step(Wolves* w) {
    const int dx[] = {0, 1, -1, 0, 0}, dy[] = {0, 0, 0, 1, -1};
    memset(w->rewards, 0, WOLVES * sizeof(float));
    memset(w->terminals, 0, WOLVES * sizeof(float));
    int caught = 0;
    for (int i = 0; i <= WOLVES; i++) {
        int a = i < WOLVES ? (int)w->actions[i] : wolves_draw(w, 5);
        int x = w->x[i] + dx[a], y = w->y[i] + dy[a];
        if (x >= 0 && x < N && y >= 0 && y < N) { w->x[i] = x; w->y[i] = y; }
    }
    for (int i = 0; i < WOLVES; i++) caught |= w->x[i] == w->x[WOLVES] && w->y[i] == w->y[WOLVES];
    w->tick++;
    if (caught || w->tick == 100) {
        for (int i = 0; i < WOLVES; i++) { w->rewards[i] = caught; w->terminals[i] = 1; }
        w->log.perf += caught;
        w->log.episode_return += caught;
        w->log.episode_length += w->tick;
        w->log.n++;
        c_reset(w);
        return;
    }
    wolves_look(w);
}

void c_render(Wolves* w) { (void)w; }
void c_close(Wolves* w) { (void)w; }
