// expect: PUF409
// Trams on lanes of their own, each with its own episodes: a steering and a boost each. The
// actions are read as heads x agents, so that one tram is steered by what two others choose.
#pragma once
#include <math.h>
#include <stdlib.h>

#define OBS_SIZE 4
#define ACT_SIZES {3, 2}
#define ABSENCE 9                   // ticks
#define PATIENCE 60

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Tram {
    float x, speed, station, ret;
    int ticks, absent;
} Tram;

typedef struct Trams {
    Log log;
    float* observations;        // (trams, 4) x, speed, station, time
    float* actions;             // (trams, 2) steer, boost, or so c_step should read it
    float* rewards;
    float* terminals;
    unsigned char* alive;
    int num_agents;
    unsigned int rng;
    int trams;               // [1, 64]
    Tram* all;               // (trams)
} Trams;

static float chance(Trams* env) {    // [-1, 1)
    env->rng = env->rng * 1664525u + 1013904223u;
    return 2.0f * (float)(env->rng >> 8) / 16777216.0f - 1.0f;
}

void init(Trams* env) {
    env->num_agents = env->trams;
    env->all = calloc((size_t)env->trams, sizeof *env->all);
}

static void observe(Trams* env, int i) {
    const Tram* me = &env->all[i];
    float* o = &env->observations[i * OBS_SIZE];
    o[0] = me->x;
    o[1] = me->speed;
    o[2] = me->station;
    o[3] = (float)me->ticks / PATIENCE;
}

static void begin(Trams* env, int i) {
    env->all[i] = (Tram){.x = 0.6f * chance(env), .station = 0.7f * chance(env)};
    env->alive[i] = 1;
}

void c_reset(Trams* env) {
    for (int i = 0; i < env->num_agents; i++) {
        begin(env, i);
        env->all[i].ticks = (i * 7) % 20;
        observe(env, i);
    }
}

static void end(Trams* env, int i, int arrived) {
    const Tram* me = &env->all[i];
    env->terminals[i] = 1.0f;
    env->log.perf += (float)arrived;
    env->log.score += me->ret;
    env->log.episode_return += me->ret;
    env->log.episode_length += (float)me->ticks;
    env->log.n += 1.0f;
}

static void move(Trams* env, int i) {
    Tram* me = &env->all[i];
    float steer = env->actions[i] - 1.0f;
    float boost = env->actions[env->num_agents + i];
    me->ticks++;
    me->speed = 0.7f * me->speed + 0.02f * steer * (1.0f + 2.0f * boost);
    me->x += me->speed;
    int arrived = fabsf(me->x - me->station) < 0.05f, wrecked = fabsf(me->x) > 1.0f;
    float reward = arrived ? 1.0f : wrecked ? -1.0f : -0.02f * fabsf(me->x - me->station);
    me->ret += reward;
    env->rewards[i] = reward;
    if (!arrived && !wrecked && me->ticks < PATIENCE) return;
    end(env, i, arrived);
    if (wrecked) {
        env->alive[i] = 0;
        me->absent = ABSENCE;
    } else {
        begin(env, i);
    }
}

void c_step(Trams* env) {
    for (int i = 0; i < env->num_agents; i++) env->rewards[i] = env->terminals[i] = 0.0f;
    for (int i = 0; i < env->num_agents; i++) {
        if (env->alive[i]) {
            move(env, i);
        } else if (--env->all[i].absent == 0) {
            begin(env, i);
        }
    }
    for (int i = 0; i < env->num_agents; i++) {
        if (env->alive[i]) observe(env, i);
    }
}

void c_render(Trams* env) { (void)env; }
void c_close(Trams* env) { free(env->all); }
