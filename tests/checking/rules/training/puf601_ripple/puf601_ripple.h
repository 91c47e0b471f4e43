// expect: PUF601
// Walk to the exit of a large hall, led by the scent of fresh air. Fault: the scent spreads over
// the whole hall forty times on every step, although neither walls nor exit ever move.
#pragma once
#include <string.h>
#define SIDE 64
#define OBS_SIZE 6
#define ACT_SIZES {4}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Ripple {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float scent[SIDE][SIDE], next[SIDE][SIDE];
    int x, y, ex, ey, tick;
} Ripple;

static int pick(Ripple* r) {
    r->rng = r->rng * 1664525u + 1013904223u;
    return 1 + (int)((r->rng >> 16) % (SIDE - 2));
}

static void spread(Ripple* r) {
    memset(r->scent, 0, sizeof r->scent);
    for (int k = 0; k < 40; k++) {
        r->scent[r->ey][r->ex] = 1.0f;
        for (int y = 1; y < SIDE - 1; y++) {
            for (int x = 1; x < SIDE - 1; x++) {
                r->next[y][x] = 0.25f * (r->scent[y - 1][x] + r->scent[y + 1][x]
                                         + r->scent[y][x - 1] + r->scent[y][x + 1]);
            }
        }
        memcpy(r->scent, r->next, sizeof r->scent);
    }
}

static void smell(Ripple* r) {
    spread(r);
    r->observations[0] = r->scent[r->y - 1][r->x];
    r->observations[1] = r->scent[r->y + 1][r->x];
    r->observations[2] = r->scent[r->y][r->x - 1];
    r->observations[3] = r->scent[r->y][r->x + 1];
    r->observations[4] = (float)(r->ex - r->x) / SIDE;
    r->observations[5] = (float)(r->ey - r->y) / SIDE;
}

void c_reset(Ripple* r) {
    memset(r->next, 0, sizeof r->next);
    r->x = pick(r);
    r->y = pick(r);
    r->ex = pick(r);
    r->ey = pick(r);
    r->tick = 0;
    smell(r);
}

void c_step(Ripple* r) {
    const int dx[] = {0, 0, -1, 1}, dy[] = {-1, 1, 0, 0};
    int a = (int)r->actions[0], x = r->x + 2 * dx[a], y = r->y + 2 * dy[a];
    if (x > 0 && x < SIDE - 1) r->x = x;
    if (y > 0 && y < SIDE - 1) r->y = y;
    r->tick++;
    int gx = r->ex - r->x, gy = r->ey - r->y, out = gx * gx + gy * gy < 64;
    int over = out || r->tick >= 100;
    r->rewards[0] = out ? 1.0f : -0.01f;
    r->terminals[0] = over ? 1.0f : 0.0f;
    if (over) {
        r->log.perf += (float)out;
        r->log.score += (float)out;
        r->log.episode_return += r->rewards[0] - 0.01f * (float)(r->tick - 1);
        r->log.episode_length += (float)r->tick;
        r->log.n += 1.0f;
        c_reset(r);
        return;
    }
    smell(r);
}

void c_render(Ripple* r) { (void)r; }
void c_close(Ripple* r) { (void)r; }
