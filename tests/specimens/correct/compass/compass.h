// Sail by compass, in bytes. The heading is a byte that goes round by design; the chart shows
// land as 255 and water as 0, and its cells jump between the two as the ship moves.
#pragma once
#include <math.h>
#include <string.h>
#define VIEW 5
#define SEA 32
#define OBS_SIZE (VIEW * VIEW + 3)
#define ACT_SIZES {3}
enum { WATER = 0, REEF = 1, HARBOUR = 254, LAND = 255 };

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Compass {
    Log log;
    unsigned char* observations;    // VIEW x VIEW chart, heading, east and north of harbour + 128
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    unsigned char chart[SEA][SEA];
    float x, y, paid;
    unsigned char heading;          // 256 to a circle
    int hx, hy, tick;
} Compass;

static int any(Compass* c, int n) {
    c->rng = c->rng * 1103515245u + 12345u;
    return (int)((c->rng >> 16) % (unsigned)n);
}

static void look(Compass* c) {
    unsigned char* o = c->observations;
    int x = (int)c->x, y = (int)c->y;
    for (int i = 0; i < VIEW * VIEW; i++) {
        int cx = x + i % VIEW - VIEW / 2, cy = y + i / VIEW - VIEW / 2;
        o[i] = cx < 0 || cy < 0 || cx >= SEA || cy >= SEA ? LAND : c->chart[cy][cx];
    }
    o[VIEW * VIEW] = c->heading;
    o[VIEW * VIEW + 1] = (unsigned char)(128 + c->hx - x);
    o[VIEW * VIEW + 2] = (unsigned char)(128 + c->hy - y);
}

void c_reset(Compass* c) {
    memset(c->chart, WATER, sizeof c->chart);
    for (int i = 0; i < 60; i++) c->chart[any(c, SEA)][any(c, SEA)] = any(c, 2) ? LAND : REEF;
    c->hx = any(c, SEA);
    c->hy = any(c, SEA);
    c->x = c->y = SEA / 2;
    c->chart[c->hy][c->hx] = HARBOUR;
    c->heading = (unsigned char)any(c, 256);
    c->paid = 0.0f;
    c->tick = 0;
    look(c);
}

void c_step(Compass* c) {
    c->heading += (unsigned char)(8 * ((int)c->actions[0] - 1));
    float angle = (float)c->heading * 0.02454369f;
    c->x += 0.7f * cosf(angle);
    c->y += 0.7f * sinf(angle);
    int x = (int)c->x, y = (int)c->y;
    int off = c->x < 0.0f || c->y < 0.0f || x >= SEA || y >= SEA;
    int wreck = off || c->chart[y][x] == LAND, home = !off && c->chart[y][x] == HARBOUR;
    int late = ++c->tick == 150;
    c->rewards[0] = home ? 1.0f : wreck ? -1.0f : !off && c->chart[y][x] == REEF ? -0.1f : 0.0f;
    c->terminals[0] = home || wreck || late ? 1.0f : 0.0f;
    c->paid += c->rewards[0];
    if (home || wreck || late) {
        c->log.perf += (float)home;
        c->log.score += (float)home;
        c->log.episode_return += c->paid;
        c->log.episode_length += (float)c->tick;
        c->log.n += 1.0f;
        c_reset(c);
        return;
    }
    look(c);
}

void c_render(Compass* c) { (void)c; }
void c_close(Compass* c) { (void)c; }
