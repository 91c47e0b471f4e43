// expect: PUF204
// A kraken hunts ships on a ring of sea. Fault: it can dive since last week, and ACT_SIZES still
// counts the four actions of before: no agent will ever choose the fifth.
#pragma once
#include <stdbool.h>
#include <string.h>

#define SEA 16
#define OBS_SIZE (SEA + 1)
enum { LEFT, RIGHT, GRAB, LURK, DIVE };
#define ACT_SIZES {4}

typedef struct Log {
    float perf;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Kraken {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int at, ship, hunger, tick;
    bool lurking;
    float eaten;
} Kraken;

static int kraken_roll(Kraken* k) {
    k->rng = k->rng * 1103515245u + 12345u;
    return (int)(k->rng >> 16) % SEA;
}

static void kraken_feel(Kraken* k) {
    memset(k->observations, 0, OBS_SIZE);
    k->observations[k->ship] = 2;
    k->observations[k->at] = k->lurking ? 3 : 1;
    k->observations[SEA] = (unsigned char)(k->hunger * 4);
}

void c_reset(Kraken* k) {
    k->at = kraken_roll(k);
    k->ship = kraken_roll(k);
    k->hunger = 0;
    k->eaten = 0.0f;
    k->tick = 0;
    k->lurking = false;
    kraken_feel(k);
}

static void swim(Kraken* k, int action) {
    switch (action) {
    case LEFT:
        k->at = (k->at + SEA - 1) % SEA;
        break;
    case RIGHT:
        k->at = (k->at + 1) % SEA;
        break;
    case LURK:
        k->lurking = true;
        break;
    case DIVE:
        k->at = kraken_roll(k);
        break;
    default:
        break;
    }
}

void c_step(Kraken* k) {
    int act = (int)k->actions[0];
    k->rewards[0] = 0.0f;
    k->terminals[0] = 0.0f;
    bool hidden = k->lurking;
    k->lurking = false;
    swim(k, act);
    k->hunger++;
    k->tick++;
    if (act == GRAB && k->at == k->ship) {
        k->rewards[0] = 1.0f;
        k->eaten += 1.0f;
        k->hunger = 0;
        k->ship = kraken_roll(k);
    } else if (!hidden && kraken_roll(k) < 4) {
        k->ship = (k->ship + 1) % SEA;
    }
    if (k->hunger > 50 || k->eaten >= 6.0f) {
        k->terminals[0] = 1.0f;
        k->log.perf += k->eaten / 6.0f;
        k->log.episode_return += k->eaten;
        k->log.episode_length += (float)k->tick;
        k->log.n += 1.0f;
        c_reset(k);
        return;
    }
    kraken_feel(k);
}

void c_render(Kraken* k) { (void)k; }
void c_close(Kraken* k) { (void)k; }
