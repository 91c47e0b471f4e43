// Shuttles on lanes of their own: each steers to its station and may boost; on a lane's end it is
// wrecked, gone for a while (alive 0) and back at another place. Each has its own episodes, and
// nobody's choice reaches another's row.
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

typedef struct Shuttle {
    float x, speed, station, ret;
    int ticks, absent;
} Shuttle;

typedef struct Shuttles {
    Log log;
    float* observations;        // (shuttles, 4) x, speed, station, time
    float* actions;             // (shuttles, 2) steer, boost
    float* rewards;
    float* terminals;
    unsigned char* alive;
    int num_agents;
    unsigned int rng;
    int shuttles;               // [1, 64]
    Shuttle* all;               // (shuttles)
} Shuttles;

static float chance(Shuttles* env) {    // [-1, 1)
    env->rng = env->rng * 1664525u + 1013904223u;
    return 2.0f * (float)(env->rng >> 8) / 16777216.0f - 1.0f;
}

void init(Shuttles* env) {
    env->num_agents = env->shuttles;
    env->all = calloc((size_t)env->shuttles, sizeof *env->all);
}

static void observe(Shuttles* env, int i) {
    const Shuttle* me = &env->all[i];
    float* o = &env->observations[i * OBS_SIZE];
    o[0] = me->x;
    o[1] = me->speed;
    o[2] = me->station;
    o[3] = (float)me->ticks / PATIENCE;
}

static void begin(Shuttles* env, int i) {
    env->all[i] = (Shuttle){.x = 0.6f * chance(env), .station = 0.7f * chance(env)};
    env->alive[i] = 1;
}

void c_reset(Shuttles* env) {
    for (int i = 0; i < env->num_agents; i++) {
        begin(env, i);
        env->all[i].ticks = (i * 7) % 20;
        observe(env, i);
    }
}

static void end(Shuttles* env, int i, int arrived) {
    const Shuttle* me = &env->all[i];
    env->terminals[i] = 1.0f;
    env->log.perf += (float)arrived;
    env->log.score += me->ret;
    env->log.episode_return += me->ret;
    env->log.episode_length += (float)me->ticks;
    env->log.n += 1.0f;
}

static void move(Shuttles* env, int i) {
    Shuttle* me = &env->all[i];
    float steer = env->actions[2 * i] - 1.0f;
    float boost = env->actions[2 * i + 1];
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

void c_step(Shuttles* env) {
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

void c_render(Shuttles* env) { (void)env; }
void c_close(Shuttles* env) { free(env->all); }
