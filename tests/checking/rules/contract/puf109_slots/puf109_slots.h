// expect: PUF109
// A machine with three reels: nudge one, or spin. Fault: the reels turn by rand(), which belongs
// to the process, though the env has a generator of its own.
#pragma once
#include <stdlib.h>

#define SYMBOLS 6
#define REELS 3
#define OBS_SIZE (REELS * SYMBOLS + 1)
#define ACT_SIZES {REELS + 2}       // nudge reel 0, 1 or 2; spin; cash in

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Slots {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int reel[REELS];
    int coins;
} Slots;

static int spin(void) { return rand() % SYMBOLS; }

static void slots_show(Slots* s) {
    for (int i = 0; i < REELS * SYMBOLS; i++) s->observations[i] = 0;
    for (int r = 0; r < REELS; r++) s->observations[r * SYMBOLS + s->reel[r]] = 1;
    s->observations[REELS * SYMBOLS] = (unsigned char)s->coins;
}

void c_reset(Slots* s) {
    for (int r = 0; r < REELS; r++) s->reel[r] = spin();
    s->coins = 20;
    slots_show(s);
}

void c_step(Slots* s) {
    int a = (int)s->actions[0];
    s->rewards[0] = 0.0f;
    s->terminals[0] = 0.0f;
    s->coins--;
    if (a < REELS) s->reel[a] = (s->reel[a] + 1) % SYMBOLS;
    else if (a == REELS) for (int r = 0; r < REELS; r++) s->reel[r] = spin();
    int won = s->reel[0] == s->reel[1] && s->reel[1] == s->reel[2];
    if (won || a == REELS + 1 || s->coins == 0) {
        s->rewards[0] = won ? 1.0f : a == REELS + 1 ? 0.01f * (float)s->coins : -0.5f;
        s->terminals[0] = 1.0f;
        s->log.perf += (float)won;
        s->log.score += (float)won;
        s->log.episode_return += s->rewards[0];
        s->log.episode_length += (float)(20 - s->coins);
        s->log.n += 1.0f;
        c_reset(s);
        return;
    }
    slots_show(s);
}

void c_render(Slots* s) { (void)s; }
void c_close(Slots* s) { (void)s; }
