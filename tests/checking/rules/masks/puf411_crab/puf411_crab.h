// expect: PUF411
// A crab looks for shells on a beach of 7 x 7. ACT_SIZES promises five moves; the fifth, to
// dig, was never written.
#pragma once
#include <string.h>

#define SIDE 7
#define OBS_SIZE (SIDE * SIDE)
#define ACT_SIZES {6}

enum { SAND, CRAB, SHELL };
enum { STAY, LEFT, RIGHT, UP, DOWN, DIG };

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Crab {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int crab, shell, tick, found;
} Crab;

static int roll(Crab* c, int sides) {
    c->rng = c->rng * 1664525u + 1013904223u;
    return (int)((c->rng >> 10) % (unsigned)sides);
}

static void hide_shell(Crab* c) {
    do c->shell = roll(c, OBS_SIZE); while (c->shell == c->crab);
}

static void draw(Crab* c) {
    memset(c->observations, SAND, OBS_SIZE);
    c->observations[c->shell] = SHELL;
    c->observations[c->crab] = CRAB;
}

void c_reset(Crab* c) {
    c->crab = roll(c, OBS_SIZE);
    hide_shell(c);
    c->tick = c->found = 0;
    draw(c);
}

void c_step(Crab* c) {
    int x = c->crab % SIDE, y = c->crab / SIDE;
    switch ((int)c->actions[0]) {
    case LEFT:  x -= x > 0; break;
    case RIGHT: x += x < SIDE - 1; break;
    case UP:    y -= y > 0; break;
    case DOWN:  y += y < SIDE - 1; break;
    }
    c->crab = y * SIDE + x;
    c->rewards[0] = 0.0f;
    c->terminals[0] = 0.0f;
    if (c->crab == c->shell) {
        c->rewards[0] = 1.0f;
        c->found++;
        hide_shell(c);
    }
    if (++c->tick >= 90 + (int)(c->rng >> 28)) {
        c->terminals[0] = 1.0f;
        c->log.score += (float)c->found;
        c->log.episode_return += (float)c->found;
        c->log.episode_length += (float)c->tick;
        c->log.perf += c->found > 5 ? 1.0f : (float)c->found / 5.0f;
        c->log.n += 1.0f;
        c_reset(c);
        return;
    }
    draw(c);
}

void c_render(Crab* c) { (void)c; }
void c_close(Crab* c) { (void)c; }
