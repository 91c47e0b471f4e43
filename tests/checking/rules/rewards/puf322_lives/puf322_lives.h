// expect: PUF322
// Dodge falling rocks with three lives. Fault: the terminal is the number of lives that were lost.
#pragma once
#include <string.h>
#define W 7
#define H 6
#define OBS_SIZE (W * H)
#define ACT_SIZES {3}
typedef struct Log {
    float perf;
    float score;
    float episode_length;
    float n;
} Log;

typedef struct Lives {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    unsigned char rocks[H][W];
    int x, lost, tick;
} Lives;

static void paint(Lives* g) {
    memcpy(g->observations, g->rocks, OBS_SIZE);
    g->observations[(H - 1) * W + g->x] += 2;
}

void c_reset(Lives* g) {
    memset(g->rocks, 0, sizeof g->rocks);
    g->x = W / 2;
    g->lost = g->tick = 0;
    paint(g);
}

void c_step(Lives* g) {
    g->x += (int)g->actions[0] - 1;
    if (g->x < 0) g->x = 0;
    if (g->x >= W) g->x = W - 1;
    memmove(g->rocks[1], g->rocks[0], (H - 1) * W);
    memset(g->rocks[0], 0, W);
    g->rng = g->rng * 1664525u + 1013904223u;
    g->rocks[0][(g->rng >> 16) % W] = 1;
    int hit = g->rocks[H - 1][g->x];
    g->lost += hit;
    g->tick++;
    g->rewards[0] = hit ? -1 : 0.1f;
    g->terminals[0] = 0;
    if (g->lost == 3 || g->tick == 100) {
        g->terminals[0] = g->lost;
        g->log.perf += g->lost < 3;
        g->log.score += g->tick;
        g->log.episode_length += g->tick;
        g->log.n++;
        c_reset(g);
        return;
    }
    paint(g);
}

void c_render(Lives* g) { (void)g; }
void c_close(Lives* g) { (void)g; }
