// A step that takes a stated time and does nothing: what a trainer makes of slow environments.
#pragma once
#include <time.h>

#define OBS_SIZE  2
#define ACT_SIZES {2}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Slow {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int micros;         // [1, 1000000] of a step: it sleeps, or spins where that is too coarse
} Slow;

static double slow_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void c_reset(Slow* env) { env->observations[0] = env->observations[1] = 0.5f; }

void c_step(Slow* env) {
    if (env->micros >= 100) {
        struct timespec nap = {env->micros / 1000000, env->micros % 1000000 * 1000L};
        nanosleep(&nap, NULL);
    } else {
        double end = slow_now() + 1e-6 * env->micros;
        while (slow_now() < end) {}
    }
    env->rewards[0] = env->actions[0];
}

void c_render(Slow* env) { (void)env; }

void c_close(Slow* env) { (void)env; }
