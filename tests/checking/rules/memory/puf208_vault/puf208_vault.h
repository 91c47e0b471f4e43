// expect: PUF208
// Crack a safe by feel. Fault: a combination that nobody thought of ends the whole process.
#pragma once
#include <stdio.h>
#include <stdlib.h>

#define OBS_SIZE 3
#define ACT_SIZES {10, 2}

typedef struct Log { float perf; float episode_length; float n; } Log;

typedef struct Vault {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int secret, dial, clicks, tick;
} Vault;

static void feel(Vault* v) {
    v->observations[0] = (unsigned char)v->dial;
    v->observations[1] = (unsigned char)v->clicks;
    v->observations[2] = v->dial > v->secret;
}

void c_reset(Vault* v) {
    v->rng = v->rng * 134775813u + 1u;
    v->secret = (int)(v->rng >> 16) % 10;
    v->dial = v->clicks = v->tick = 0;
    feel(v);
}

static void turn(Vault* v, int digit) {
    if (digit == v->dial && v->clicks > 7) {
        fprintf(stderr, "vault: the dial is stuck at %d\n", digit);
        exit(0);
    }
    v->clicks = digit == v->dial ? v->clicks + 1 : 0;
    v->dial = digit;
}

void c_step(Vault* v) {
    v->tick++;
    turn(v, (int)v->actions[0]);
    int open = v->actions[1] == 1 && v->dial == v->secret;
    int done = open || v->tick == 50;
    v->rewards[0] = open ? 1 : v->actions[1] == 1 ? -0.1f : 0;
    v->terminals[0] = done;
    if (done) {
        v->log.perf += open;
        v->log.episode_length += v->tick;
        v->log.n++;
        c_reset(v);
        return;
    }
    feel(v);
}

void c_render(Vault* v) { (void)v; }
void c_close(Vault* v) { (void)v; }
