// expect: PUF110
// A rover on a cratered moon: the observation shows the distance to the base from each side.
// Fault: the search that measures it takes its queue from the heap, on every single step.
#pragma once
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 7
#define CELLS (SIDE * SIDE)
#define OBS_SIZE 6
#define ACT_SIZES {4}
#define CRATERS 8

typedef struct Log { float perf, episode_return, episode_length, n; } Log;

typedef struct Rover {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    bool crater[CELLS];
    int at, base, tick;
} Rover;

static int rover_random(Rover* r, int n) {
    r->rng = r->rng * 747796405u + 2891336453u;
    return (int)((r->rng >> 12) % (unsigned int)n);
}

static int rover_beside(int cell, int way) {
    int x = cell % SIDE + (way == 0) - (way == 1), y = cell / SIDE + (way == 2) - (way == 3);
    return x < 0 || y < 0 || x >= SIDE || y >= SIDE ? -1 : y * SIDE + x;
}

static void rover_measure(const Rover* r, int* distance) {
    int* queue = malloc(CELLS * sizeof *queue);
    int head = 0, tail = 0;
    for (int i = 0; i < CELLS; i++) distance[i] = CELLS;
    distance[r->base] = 0;
    queue[tail++] = r->base;
    while (head < tail) {
        int cell = queue[head++];
        for (int way = 0; way < 4; way++) {
            int next = rover_beside(cell, way);
            if (next < 0 || r->crater[next] || distance[next] < CELLS) continue;
            distance[next] = distance[cell] + 1;
            queue[tail++] = next;
        }
    }
    free(queue);
}

static void rover_see(Rover* r) {
    int distance[CELLS];
    rover_measure(r, distance);
    for (int way = 0; way < 4; way++) {
        int next = rover_beside(r->at, way);
        r->observations[way] = next < 0 ? 1.0f : (float)distance[next] / CELLS;
    }
    r->observations[4] = (float)(r->at % SIDE) / SIDE;
    r->observations[5] = (float)(r->at / SIDE) / SIDE;
}

void c_reset(Rover* r) {
    memset(r->crater, 0, sizeof r->crater);
    for (int i = 0; i < CRATERS; i++) r->crater[rover_random(r, CELLS)] = true;
    r->at = rover_random(r, CELLS);
    r->base = (r->at + 1 + rover_random(r, CELLS - 1)) % CELLS;
    r->crater[r->at] = r->crater[r->base] = false;
    r->tick = 0;
    rover_see(r);
}

void c_step(Rover* r) {
    int next = rover_beside(r->at, (int)r->actions[0]);
    if (next >= 0 && !r->crater[next]) r->at = next;
    bool home = r->at == r->base, over = home || ++r->tick >= 90;
    r->rewards[0] = home ? 1.0f : 0.0f;
    r->terminals[0] = over ? 1.0f : 0.0f;
    if (over) {
        r->log.perf += home ? 1.0f : 0.0f;
        r->log.episode_return += r->rewards[0];
        r->log.episode_length += (float)(r->tick + home);
        r->log.n += 1.0f;
        c_reset(r);
        return;
    }
    rover_see(r);
}

void c_render(Rover* r) { (void)r; }
void c_close(Rover* r) { (void)r; }
