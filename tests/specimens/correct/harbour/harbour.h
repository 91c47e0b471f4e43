// Ships that cross a harbour. Correct, with a variable number of agents: a ship that has reached its
// quay or has waited too long leaves, and others arrive as long as there are berths, so that
// num_agents changes within 0 and max_agents. The last ship takes the row of the one that leaves,
// which has a terminal, and its own row is empty without one. Nothing ever begins anew.
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OBS_X,                          // [-1, 1]
    OBS_QUAY,                       // [-1, 1] where it wants to go
    OBS_WAITED,                     // [0, 1]
    OBS_SHIPS,                      // [0, 1]  share of the berths that are taken
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

enum { ACT_DRIFT, ACT_EAST, ACT_WEST, ACT_COUNT };
#define ACT_SIZES {ACT_COUNT}

#define PATIENCE 80                 // ticks
#define SPEED    0.08f

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Ship {
    float x, quay, sum;
    int waited;
} Ship;

typedef struct Harbour {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;                 // ships that are there now
    int max_agents;                 // [1, 64] berths
    unsigned int rng;
    float arrivals;                 // [0, 1] chance of one more ship in a tick
    Ship* ships;                    // (max_agents)
} Harbour;

static float roll(Harbour* env) {   // [0, 1)
    env->rng = env->rng * 1664525u + 1013904223u;
    return (float)(env->rng >> 8) / 16777216.0f;
}

void init(Harbour* env) { env->ships = calloc((size_t)env->max_agents, sizeof *env->ships); }

static void arrive(Harbour* env) {
    Ship* ship = &env->ships[env->num_agents++];
    *ship = (Ship){.x = 2.0f * roll(env) - 1.0f, .quay = 2.0f * roll(env) - 1.0f};
}

static void observe(Harbour* env) {
    for (int i = 0; i < env->num_agents; i++) {
        const Ship* ship = &env->ships[i];
        float* o = env->observations + i * OBS_SIZE;
        o[OBS_X] = ship->x;
        o[OBS_QUAY] = ship->quay;
        o[OBS_WAITED] = (float)ship->waited / PATIENCE;
        o[OBS_SHIPS] = (float)env->num_agents / (float)env->max_agents;
    }
    for (int i = env->num_agents * OBS_SIZE; i < env->max_agents * OBS_SIZE; i++)
        env->observations[i] = INFINITY;    // nobody may look
}

void c_reset(Harbour* env) {
    env->num_agents = 0;
    while (env->num_agents < env->max_agents / 2) arrive(env);
    observe(env);
}

static void leave(Harbour* env, int i, int arrived) {
    const Ship* ship = &env->ships[i];
    env->log.perf += (float)arrived;
    env->log.score += (float)arrived;
    env->log.episode_return += ship->sum;
    env->log.episode_length += (float)ship->waited;
    env->log.n += 1.0f;
    env->terminals[i] = 1.0f;
    env->ships[i] = env->ships[--env->num_agents];
}

void c_step(Harbour* env) {
    int sailing = env->num_agents;
    memset(env->rewards, 0, (size_t)env->max_agents * sizeof(float));
    memset(env->terminals, 0, (size_t)env->max_agents * sizeof(float));
    for (int i = 0; i < sailing; i++) {
        Ship* ship = &env->ships[i];
        int action = (int)env->actions[i];
        float before = fabsf(ship->quay - ship->x);
        ship->x += SPEED * (float)((action == ACT_EAST) - (action == ACT_WEST));
        ship->x = fmaxf(-1.0f, fminf(1.0f, ship->x));
        ship->waited++;
        env->rewards[i] = before - fabsf(ship->quay - ship->x);
        ship->sum += env->rewards[i];
    }
    for (int i = sailing - 1; i >= 0; i--) {
        int arrived = fabsf(env->ships[i].quay - env->ships[i].x) < SPEED;
        if (arrived || env->ships[i].waited >= PATIENCE) leave(env, i, arrived);
    }
    if (env->num_agents < env->max_agents && roll(env) < env->arrivals) arrive(env);
    observe(env);
}

void c_render(Harbour* env) { (void)env; }

void c_close(Harbour* env) { free(env->ships); }
