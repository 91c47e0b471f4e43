// expect: PUF702 (--learn)
// Whack a mole. It pops up only after the board was drawn, so what the player sees is the mole
// that has gone already.
#pragma once
#include <string.h>

#define SIDE 3
#define OBS_SIZE (SIDE * SIDE)
#define ACT_SIZES {SIDE * SIDE}
enum { HOLE, MOLE };

typedef struct { float perf, score, episode_return, episode_length, n; } Log;

typedef struct {
    Log log;
    unsigned char* observations;    // (SIDE, SIDE)
    float* actions;                 // the hole to hit
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int rounds;                     // [env] of an episode
    int mole;                       // where it is, -1 = under ground
    int round, hits;
} Whack;

static unsigned int mix(unsigned int* state) {
    unsigned int x = (*state += 0x9E3779B9u);
    x = (x ^ (x >> 16)) * 0x21F0AAADu;
    x = (x ^ (x >> 15)) * 0x735A2D97u;
    return x ^ (x >> 15);
}

static void draw_board(Whack* w) {
    memset(w->observations, HOLE, OBS_SIZE);
    if (w->mole >= 0) w->observations[w->mole] = MOLE;
}

static void pop_up(Whack* w) {
    draw_board(w);
    w->mole = (int)(mix(&w->rng) % OBS_SIZE);
}

void c_reset(Whack* w) {
    w->mole = -1;
    w->round = w->hits = 0;
    pop_up(w);
}

void c_step(Whack* w) {
    int hit = (int)w->actions[0] == w->mole;
    int over = ++w->round >= w->rounds;
    w->hits += hit;
    w->rewards[0] = (float)hit;
    w->terminals[0] = (float)over;
    if (!over) {
        pop_up(w);
        return;
    }
    w->log.perf += (float)w->hits / (float)w->rounds;
    w->log.score += (float)w->hits;
    w->log.episode_return += (float)w->hits;
    w->log.episode_length += (float)w->round;
    w->log.n += 1;
    c_reset(w);
}

void c_render(Whack* w) { (void)w; }
void c_close(Whack* w) { (void)w; }
