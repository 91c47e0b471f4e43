// expect: PUF322
// Runners in a haunted house: whoever waits too long is gone until the next night. Fault: alive
// holds the lives of a runner, not whether there is one.
#pragma once
#include <stdlib.h>
#include <string.h>

enum { OBS_LIVES, OBS_HEARD, OBS_HOUR, OBS_COUNT };         // all [0, 1]
#define OBS_SIZE  OBS_COUNT
#define ACT_SIZES {2}
#define LIVES     3
#define HOURS     40

typedef struct Log {
    float perf;
    float score;
    float n;
} Log;

typedef struct Runner { int lives, heard, sum; } Runner;

typedef struct Ghosts {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* alive;
    int num_agents;
    unsigned int rng;
    int runners;
    int hour;
    Runner* all;
} Ghosts;

static int below(unsigned int* rng, int n) {
    *rng = *rng * 1664525u + 1013904223u;
    return (int)(*rng >> 8) % n;
}

void init(Ghosts* env) {
    env->num_agents = env->runners;
    env->all = calloc((size_t)env->runners, sizeof *env->all);
}

static void observe(Ghosts* env) {
    for (int i = 0; i < env->num_agents; i++) {
        const Runner* me = &env->all[i];
        float* o = env->observations + i * OBS_SIZE;
        env->alive[i] = (unsigned char)me->lives;
        o[OBS_LIVES] = (float)me->lives / LIVES;
        o[OBS_HEARD] = (float)me->heard;
        o[OBS_HOUR] = (float)env->hour / HOURS;
    }
}

void c_reset(Ghosts* env) {
    env->hour = below(&env->rng, 8);
    for (int i = 0; i < env->num_agents; i++) env->all[i] = (Runner){.lives = LIVES};
    observe(env);
}

void c_step(Ghosts* env) {
    memset(env->rewards, 0, (size_t)env->num_agents * sizeof(float));
    memset(env->terminals, 0, (size_t)env->num_agents * sizeof(float));
    env->hour++;
    int left = 0;
    for (int i = 0; i < env->num_agents; i++) {
        Runner* me = &env->all[i];
        if (me->lives == 0) continue;
        int good = me->heard == (int)env->actions[i];
        if (me->heard && good) env->rewards[i] = 1;
        if (!good) me->lives--;
        me->sum += me->heard && good;
        me->heard = below(&env->rng, 4) == 0;
        env->terminals[i] = me->lives == 0;
        left += me->lives > 0;
    }
    if (left > 0 && env->hour < HOURS) {
        observe(env);
        return;
    }
    for (int i = 0; i < env->num_agents; i++) {
        if (env->all[i].lives > 0) env->terminals[i] = 1;
        env->log.perf += (float)env->all[i].sum / HOURS;
        env->log.score += (float)env->all[i].sum;
        env->log.n += 1;
    }
    c_reset(env);
}

void c_render(Ghosts* env) { (void)env; }

void c_close(Ghosts* env) { free(env->all); }
