// expect: PUF302
// Walk a cave in the dark. Fault: c_reset does not write the view, so the first observation of an
// episode is the last one of the episode before.
#pragma once
#include <string.h>

#define OBS_SIZE 9
#define ACT_SIZES {4}
enum { SIDE = 12 };

typedef struct Log { float score; float n; } Log;

typedef struct Miner {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    unsigned char cave[SIDE][SIDE];
    int x, y, tick;
} Miner;

static unsigned int miner_draw(Miner* m) { return m->rng = m->rng * 1664525u + 1013904223u; }

static void miner_look(Miner* m) {
    for (int i = 0; i < 9; i++) {
        m->observations[i] = m->cave[m->y - 1 + i / 3][m->x - 1 + i % 3];
    }
}

void c_reset(Miner* m) {
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            int edge = x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1;
            m->cave[y][x] = edge || (miner_draw(m) >> 29) == 0;
        }
    }
    m->cave[1][1] = 0;
    m->cave[SIDE - 2][SIDE - 2] = 2;
    m->x = m->y = 1;
    m->tick = 0;
}

void c_step(Miner* m) {
    int a = (int)m->actions[0];
    int x = m->x + (a == 0) - (a == 1), y = m->y + (a == 2) - (a == 3);
    if (m->cave[y][x] != 1) { m->x = x; m->y = y; }
    int won = m->cave[m->y][m->x] == 2;
    m->rewards[0] = won;
    m->terminals[0] = won || ++m->tick >= 100;
    if (m->terminals[0]) {
        m->log.score += won;
        m->log.n++;
        c_reset(m);
        return;
    }
    miner_look(m);
}

void c_render(Miner* m) { (void)m; }
void c_close(Miner* m) { (void)m; }
