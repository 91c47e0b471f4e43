// Two skaters on a rink, who race for a puck; the views of both are mirrored.
// puffer: players 2 alike
#pragma once
#include <math.h>

#define OBS_SIZE 5
#define ACT_SIZES {3}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Skaters {
    Log log;
    float* observations;        // (2, 5) own place, puck, the other, as seen from the own end; time
    float* actions;             // (2, 1) to the own end, stay, to the far end
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int limit;                  // [20, 1000] ticks, at most
    float x[2], speed[2], puck, sum;
    int tick, end;
} Skaters;

static float chance(Skaters* env) {     // [-1, 1)
    env->rng = env->rng * 1664525u + 1013904223u;
    return 2.0f * (float)(env->rng >> 8) / 16777216.0f - 1.0f;
}

void init(Skaters* env) { env->num_agents = 2; }

static void observe(Skaters* env) {
    for (int i = 0; i < 2; i++) {
        float* o = &env->observations[i * OBS_SIZE];
        float side = i == 0 ? 1.0f : -1.0f;
        o[0] = side * env->x[i];
        o[1] = side * (env->puck - env->x[i]);
        o[2] = side * (env->x[1 - i] - env->x[i]);
        o[3] = side * env->speed[i];
        o[4] = (float)env->tick / (float)env->limit;
    }
}

void c_reset(Skaters* env) {
    env->tick = 0;
    env->sum = 0.0f;
    env->end = env->limit / 2 + (int)(0.4f * (float)env->limit * chance(env));
    env->puck = 0.4f * chance(env);
    for (int i = 0; i < 2; i++) {
        float side = i == 0 ? 1.0f : -1.0f;
        env->x[i] = -side * (0.7f + 0.2f * chance(env));
        env->speed[i] = 0.0f;
    }
    observe(env);
}

static void finish(Skaters* env, int winner) {
    for (int i = 0; i < 2; i++) {
        if (winner >= 0) env->rewards[i] = i == winner ? 1.0f : -1.0f;
        env->terminals[i] = 1.0f;
    }
    env->sum += env->rewards[0];
    env->log.perf += winner >= 0 ? 1.0f : 0.0f;
    env->log.score += env->sum;
    env->log.episode_return += env->sum;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);
}

void c_step(Skaters* env) {
    env->tick++;
    float far[2];
    for (int i = 0; i < 2; i++) {
        float side = i == 0 ? 1.0f : -1.0f;
        env->rewards[i] = env->terminals[i] = 0.0f;
        env->speed[i] = 0.8f * env->speed[i] + 0.04f * side * (env->actions[i] - 1.0f);
        env->x[i] = fmaxf(-1.0f, fminf(1.0f, env->x[i] + env->speed[i]));
        far[i] = fabsf(env->x[i] - env->puck);
    }
    float near = fminf(far[0], far[1]);
    if (near < 0.05f && far[0] != far[1]) {
        finish(env, far[0] < far[1] ? 0 : 1);
    } else if (env->tick >= env->end) {
        finish(env, -1);
    } else {
        observe(env);
    }
}

void c_render(Skaters* env) { (void)env; }
void c_close(Skaters* env) { (void)env; }
