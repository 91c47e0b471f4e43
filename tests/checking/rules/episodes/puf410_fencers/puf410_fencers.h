// expect: PUF410
// Two fencers on a strip, who race for a sword; the views of both are mirrored. The second one
// never pays: a sum that was meant to be of both was made for the first one only.
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

typedef struct Fencers {
    Log log;
    float* observations;        // (2, 5) own place, sword, the other, as seen from the own end; time
    float* actions;             // (2, 1) to the own end, stay, to the far end
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int limit;                  // [20, 1000] ticks, at most
    float x[2], speed[2], sword, sum;
    int tick, end;
} Fencers;

static float chance(Fencers* env) {     // [-1, 1)
    env->rng = env->rng * 1664525u + 1013904223u;
    return 2.0f * (float)(env->rng >> 8) / 16777216.0f - 1.0f;
}

void init(Fencers* env) { env->num_agents = 2; }

static void observe(Fencers* env) {
    for (int i = 0; i < 2; i++) {
        float* o = &env->observations[i * OBS_SIZE];
        float side = i == 0 ? 1.0f : -1.0f;
        o[0] = side * env->x[i];
        o[1] = side * (env->sword - env->x[i]);
        o[2] = side * (env->x[1 - i] - env->x[i]);
        o[3] = side * env->speed[i];
        o[4] = (float)env->tick / (float)env->limit;
    }
}

void c_reset(Fencers* env) {
    env->tick = 0;
    env->sum = 0.0f;
    env->end = env->limit / 2 + (int)(0.4f * (float)env->limit * chance(env));
    env->sword = 0.4f * chance(env);
    for (int i = 0; i < 2; i++) {
        float side = i == 0 ? 1.0f : -1.0f;
        env->x[i] = -side * (0.7f + 0.2f * chance(env));
        env->speed[i] = 0.0f;
    }
    observe(env);
}

static void finish(Fencers* env, int winner) {
    for (int i = 0; i < 2; i++) {
        if (winner >= 0) env->rewards[i] = i == winner ? 1.0f : i == 0 ? -1.0f : 0.0f;
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

void c_step(Fencers* env) {
    env->tick++;
    float far[2];
    for (int i = 0; i < 2; i++) {
        float side = i == 0 ? 1.0f : -1.0f;
        env->rewards[i] = env->terminals[i] = 0.0f;
        env->speed[i] = 0.8f * env->speed[i] + 0.04f * side * (env->actions[i] - 1.0f);
        env->x[i] = fmaxf(-1.0f, fminf(1.0f, env->x[i] + env->speed[i]));
        far[i] = fabsf(env->x[i] - env->sword);
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

void c_render(Fencers* env) { (void)env; }
void c_close(Fencers* env) { (void)env; }
