// expect: PUF423
// Putt a ball into a hole. Fault: perf is the number of strokes that were left, not a share.
#pragma once
#include <math.h>
#define OBS_SIZE 4
#define ACT_SIZES {8, 3}
#define STROKES 12
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Golf {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float x, y, hx, hy;
    int strokes;
} Golf;

static float spot(Golf* g) {
    g->rng = g->rng * 747796405u + 2891336453u;
    return 2.0f * (float)(g->rng >> 8) / 16777216.0f - 1.0f;
}

static void look(Golf* g) {
    g->observations[0] = g->hx - g->x;
    g->observations[1] = g->hy - g->y;
    g->observations[2] = g->x;
    g->observations[3] = (float)g->strokes / STROKES;
}

void c_reset(Golf* g) {
    g->x = spot(g);
    g->y = spot(g);
    g->hx = spot(g);
    g->hy = spot(g);
    g->strokes = 0;
    look(g);
}

void c_step(Golf* g) {
    float angle = 0.7853982f * g->actions[0], force = 0.15f * (1.0f + g->actions[1]);
    g->x = fmaxf(-1.0f, fminf(1.0f, g->x + force * cosf(angle)));
    g->y = fmaxf(-1.0f, fminf(1.0f, g->y + force * sinf(angle)));
    g->strokes++;
    int in = hypotf(g->hx - g->x, g->hy - g->y) < 0.2f, over = in || g->strokes == STROKES;
    g->rewards[0] = in ? 1.0f : 0.0f;
    g->terminals[0] = over ? 1.0f : 0.0f;
    if (over) {
        g->log.perf += (float)(STROKES - g->strokes);
        g->log.score += (float)in;
        g->log.episode_return += (float)in;
        g->log.episode_length += (float)g->strokes;
        g->log.n += 1.0f;
        c_reset(g);
        return;
    }
    look(g);
}

void c_render(Golf* g) { (void)g; }
void c_close(Golf* g) { (void)g; }
