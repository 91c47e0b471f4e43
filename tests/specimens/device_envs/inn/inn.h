// An inn: guests come, sleep through some ticks, and leave. What stands in the rows of empty rooms
// must not matter: it is no number, and nothing is legal there.
#pragma once
#include <math.h>
#include <stdlib.h>

enum { OBS_HUNGER, OBS_AGE, OBS_GUESTS, OBS_COUNT };
#define OBS_SIZE OBS_COUNT

enum { ACT_WAIT, ACT_EAT, ACT_LEAVE, ACT_COUNT };
#define ACT_SIZES {ACT_COUNT, 2}            // the second: quietly, or not
#define LEGAL (ACT_COUNT + 2)

#define MOST_ROOMS 8

typedef struct Log {
    float score;
    float episode_length;
    float n;
} Log;

typedef struct Guest {
    int hunger, age;
} Guest;

typedef struct Inn {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    unsigned char* action_mask;             // out [LEGAL]
    float* final_observations;
    unsigned char* alive;                   // out [1]  0 in rooms where nobody is, or all sleep
    int num_agents;                         // [0, max_agents] rooms that are let
    int max_agents;                         // [1, MOST_ROOMS]
    unsigned int rng;
    int limit;                              // [1, 1000] ticks until all have to leave
    int tick;
    Guest guests[MOST_ROOMS];
} Inn;

static void look(const Inn* env, int room, float* to) {
    to[OBS_HUNGER] = 0.125f * (float)env->guests[room].hunger;
    to[OBS_AGE] = 0.0625f * (float)env->guests[room].age;
    to[OBS_GUESTS] = 0.125f * (float)env->num_agents;
}

static void observe(Inn* env) {
    for (int room = 0; room < env->max_agents; room++) {
        float* seen = env->observations + room * OBS_COUNT;
        unsigned char* legal = env->action_mask + room * LEGAL;
        int here = room < env->num_agents && env->alive[room];
        for (int i = 0; i < OBS_COUNT; i++) seen[i] = NAN;
        for (int i = 0; i < LEGAL; i++) legal[i] = here && (i != ACT_EAT || env->guests[room].hunger);
        if (here) look(env, room, seen);
    }
}

static void come(Inn* env) {
    int before = env->num_agents;
    if (rand() % 3 == 0) env->num_agents += rand() % 2 ? 1 : -1;
    if (env->num_agents < 0 || env->num_agents > env->max_agents) env->num_agents = before;
    for (int room = 0; room < env->max_agents; room++) {
        int sleeps = rand() % 8 == 0;
        if (sleeps) env->alive[room] = !env->alive[room];
        if (room < env->num_agents && room >= before) env->alive[room] = 1;
        if (!env->alive[room]) env->guests[room] = (Guest){0, 0};
    }
}

void c_reset(Inn* env) {
    env->tick = 0;
    env->num_agents = rand() % (env->max_agents + 1);
    for (int room = 0; room < env->max_agents; room++) {
        env->guests[room] = (Guest){rand() % 4, 0};
        env->alive[room] = 1;
    }
    observe(env);
}

static void leave(Inn* env, int room) {
    env->log.score += env->rewards[room];
    env->log.episode_length += (float)env->guests[room].age;
    env->log.n += 1.0f;
    env->guests[room] = (Guest){rand() % 4, 0};
}

void c_step(Inn* env) {
    int closes = ++env->tick >= env->limit;
    for (int room = 0; room < env->max_agents; room++) {
        Guest* guest = &env->guests[room];
        int action = (int)env->actions[2 * room];
        if (room >= env->num_agents || !env->alive[room]) {
            env->rewards[room] = NAN;
            continue;
        }
        guest->age++;
        env->rewards[room] = action == ACT_EAT ? 0.25f * (float)guest->hunger : -0.125f;
        guest->hunger = action == ACT_EAT ? 0 : guest->hunger + 1;
        env->terminals[room] = (float)(action == ACT_LEAVE && !closes);
        env->truncations[room] = (float)closes;
        if (closes) look(env, room, env->final_observations + room * OBS_COUNT);
        if (closes || action == ACT_LEAVE) leave(env, room);
    }
    if (closes) {
        c_reset(env);
        return;
    }
    come(env);
    observe(env);
}

void c_render(Inn* env) { (void)env; }

void c_close(Inn* env) { (void)env; }
