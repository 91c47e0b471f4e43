// expect: PUF114
// Walk home along a track of `length` squares. Fault: OBS_SIZE was counted for length 20.
#pragma once
#include <string.h>

#define OBS_SIZE 20
#define ACT_SIZES {2}

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Ludo {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int length;
    int me, other, turn;
} Ludo;

static int die(Ludo* ludo) {
    ludo->rng = ludo->rng * 1103515245u + 12345u;
    return 1 + (int)((ludo->rng >> 16) % 6u);
}

static void show(Ludo* ludo) {
    memset(ludo->observations, 0, (size_t)ludo->length);
    ludo->observations[ludo->other] = 2;
    ludo->observations[ludo->me] = 1;
}

void c_reset(Ludo* ludo) {
    ludo->me = 0;
    ludo->other = ludo->length / 2;
    ludo->turn = 0;
    show(ludo);
}

static int land(Ludo* ludo, int at, int by) {
    return at + by < ludo->length ? at + by : at;
}

void c_step(Ludo* ludo) {
    ludo->rewards[0] = 0.0f;
    ludo->terminals[0] = 0.0f;
    ludo->turn++;
    int eyes = die(ludo);
    if (ludo->actions[0] == 1.0f) ludo->me = land(ludo, ludo->me, eyes);
    ludo->other = land(ludo, ludo->other, die(ludo));
    if (ludo->me == ludo->other) ludo->me = 0;          // caught: back to the start
    int won = ludo->me == ludo->length - 1;
    if (won || ludo->turn >= 10 * ludo->length) {
        ludo->rewards[0] = won ? 1.0f : -1.0f;
        ludo->terminals[0] = 1.0f;
        ludo->log.perf += (float)won;
        ludo->log.score += (float)won;
        ludo->log.episode_return += ludo->rewards[0];
        ludo->log.episode_length += (float)ludo->turn;
        ludo->log.n += 1.0f;
        c_reset(ludo);
        return;
    }
    show(ludo);
}

void c_render(Ludo* ludo) { (void)ludo; }
void c_close(Ludo* ludo) { (void)ludo; }
