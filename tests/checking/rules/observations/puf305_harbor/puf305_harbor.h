// expect: PUF305
// Steer a tug to a berth across the current. Fault: the tug's turning rate was meant to be the
// last input; it is cleared with the rest and then forgotten.
#pragma once
#include <math.h>
#include <string.h>
#define OBS_SIZE 6
#define ACT_SIZES {3, 2}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Harbor {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float x, y, heading, turn, current, berth;
    float sum;
    int tick;
} Harbor;

static float between(Harbor* env, float low, float high) {
    env->rng = env->rng * 1664525u + 1013904223u;
    return low + (high - low) * (float)(env->rng >> 8) / 16777216.0f;
}

static void observe(Harbor* env) {
    float* o = env->observations;
    memset(o, 0, OBS_SIZE * sizeof(float));
    o[0] = env->berth - env->x;
    o[1] = 1.0f - env->y;
    o[2] = cosf(env->heading);
    o[3] = sinf(env->heading);
    o[4] = 20.0f * env->current;
}

void c_reset(Harbor* env) {
    env->x = between(env, -0.5f, 0.5f);
    env->y = -1.0f;
    env->heading = 1.5f;
    env->turn = env->sum = 0.0f;
    env->current = between(env, -0.01f, 0.01f);
    env->berth = between(env, -0.8f, 0.8f);
    env->tick = 0;
    observe(env);
}

void c_step(Harbor* env) {
    env->turn = 0.8f * env->turn + 0.05f * (env->actions[0] - 1.0f);
    env->heading += env->turn;
    float speed = env->actions[1] > 0.5f ? 0.03f : 0.01f;
    env->x += speed * cosf(env->heading) + env->current;
    env->y += speed * sinf(env->heading);
    env->tick++;
    int there = env->y > 1.0f && fabsf(env->x - env->berth) < 0.1f;
    int lost = fabsf(env->x) > 1.2f || env->y < -1.2f || env->y > 1.0f || env->tick == 250;
    env->rewards[0] = there ? 1.0f : lost ? -1.0f : -0.001f;
    env->terminals[0] = there || lost ? 1.0f : 0.0f;
    env->sum += env->rewards[0];
    if (there || lost) {
        env->log.perf += (float)there;
        env->log.score += (float)there;
        env->log.episode_return += env->sum;
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Harbor* env) { (void)env; }
void c_close(Harbor* env) { (void)env; }
