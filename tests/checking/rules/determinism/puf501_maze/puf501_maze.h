// expect: PUF501
// Walk through a maze that lies on the heap. Fault: malloc gives memory that holds anything, and
// only the border is ever written, so the walls are whatever was there.
#pragma once
#include <stdlib.h>
#include <string.h>
#define SIDE 9
#define OBS_SIZE 5
#define ACT_SIZES {4}
typedef struct Log {
    float perf;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Maze {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int x, y, tick;
    unsigned char* wall;
} Maze;

void init(Maze* m) {
    m->wall = malloc(SIDE * SIDE);
    for (int i = 0; i < SIDE; i++) {
        m->wall[i] = m->wall[SIDE * (SIDE - 1) + i] = 1;
        m->wall[SIDE * i] = m->wall[SIDE * i + SIDE - 1] = 1;
    }
}

static void feel(Maze* m) {
    const unsigned char* here = &m->wall[m->y * SIDE + m->x];
    m->observations[0] = here[1] != 0;
    m->observations[1] = here[-1] != 0;
    m->observations[2] = here[SIDE] != 0;
    m->observations[3] = here[-SIDE] != 0;
    m->observations[4] = (unsigned char)m->tick;
}

void c_reset(Maze* m) {
    m->rng = m->rng * 1664525u + 1013904223u;
    m->x = 1 + (int)((m->rng >> 16) % 3);
    m->y = 1 + (int)((m->rng >> 20) % 3);
    m->tick = 0;
    feel(m);
}

void c_step(Maze* m) {
    const int dx[] = {1, -1, 0, 0}, dy[] = {0, 0, 1, -1};
    int a = (int)m->actions[0];
    int x = m->x + dx[a], y = m->y + dy[a];
    if (!m->wall[y * SIDE + x]) { m->x = x; m->y = y; }
    m->tick++;
    int out = m->x == SIDE - 2 && m->y == SIDE - 2, late = m->tick == 100;
    m->rewards[0] = out;
    m->terminals[0] = out || late;
    if (out || late) {
        m->log.perf += out;
        m->log.episode_return += out;
        m->log.episode_length += m->tick;
        m->log.n++;
        c_reset(m);
        return;
    }
    feel(m);
}

void c_render(Maze* m) { (void)m; }
void c_close(Maze* m) { free(m->wall); }
