// expect: PUF113
// One lift, people on eight floors. Fault: the ini gives `patience`, but a constant is used where the
// field was meant.
#pragma once
#include <string.h>

#define FLOORS 8
#define PATIENCE 40
#define OBS_SIZE (2 * FLOORS)
#define ACT_SIZES {3}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Lift {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int patience;           // ticks that somebody waits
    int shift;              // ticks of an episode
    int waiting[FLOORS];    // ticks waited so far; 0 = nobody
    int floor, tick, served, lost;
} Lift;

static int draw(Lift* lift, int sides) {
    lift->rng = lift->rng * 1664525u + 1013904223u;
    return (int)((lift->rng >> 16) % (unsigned int)sides);
}

static void observe(Lift* lift) {
    memset(lift->observations, 0, OBS_SIZE);
    lift->observations[lift->floor] = 1;
    for (int i = 0; i < FLOORS; i++)
        lift->observations[FLOORS + i] = (unsigned char)lift->waiting[i];
}

void c_reset(Lift* lift) {
    memset(lift->waiting, 0, sizeof lift->waiting);
    lift->floor = draw(lift, FLOORS);
    lift->tick = lift->served = lift->lost = 0;
    observe(lift);
}

void c_step(Lift* lift) {
    int move = (int)lift->actions[0] - 1;
    int to = lift->floor + move;
    float reward = 0.0f;
    lift->terminals[0] = 0.0f;
    if (to >= 0 && to < FLOORS) lift->floor = to;
    if (draw(lift, 6) == 0) {
        int* there = &lift->waiting[draw(lift, FLOORS)];
        if (*there == 0) *there = 1;
    }
    for (int i = 0; i < FLOORS; i++) {
        if (lift->waiting[i] == 0) continue;
        if (i == lift->floor) {
            reward += 1.0f;
            lift->served++;
            lift->waiting[i] = 0;
        } else if (++lift->waiting[i] > PATIENCE) {
            reward -= 1.0f;
            lift->lost++;
            lift->waiting[i] = 0;
        }
    }
    lift->rewards[0] = reward;
    lift->tick++;
    if (lift->lost >= 5 || lift->tick >= lift->shift) {
        lift->terminals[0] = 1.0f;
        lift->log.perf += (float)lift->served / (float)(lift->served + lift->lost + 1);
        lift->log.score += (float)lift->served;
        lift->log.episode_return += (float)(lift->served - lift->lost);
        lift->log.episode_length += (float)lift->tick;
        lift->log.n += 1.0f;
        c_reset(lift);
        return;
    }
    observe(lift);
}

void c_render(Lift* lift) { (void)lift; }
void c_close(Lift* lift) { (void)lift; }
