// expect: PUF203
// Four runners on a ring track pass a baton. Fault: each runner shows five numbers, and OBS_SIZE
// says four, so the last runner writes into the next env's first row.
#pragma once
#include <math.h>

#define RUNNERS 4
#define OBS_SIZE 4
#define ACT_SIZES {1}
typedef struct Log {
    float score;
    float episode_length;
    float n;
} Log;
static inline float roll(unsigned int* rng) {      // [0, 1)
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

typedef struct Relay {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float pos[RUNNERS], speed[RUNNERS], breath[RUNNERS];
    int baton;
    int tick;
} Relay;

void init(Relay* env) { env->num_agents = RUNNERS; }

static void show(Relay* env) {
    int k = 0;
    for (int i = 0; i < RUNNERS; i++) {
        int next = (i + 1) % RUNNERS;
        env->observations[k++] = env->pos[i];
        env->observations[k++] = env->speed[i];
        env->observations[k++] = env->breath[i];
        env->observations[k++] = env->pos[next] - env->pos[i];
        if (i == RUNNERS - 1) env->observations[k++] = (float)env->baton / RUNNERS;
    }
}

void c_reset(Relay* env) {
    for (int i = 0; i < RUNNERS; i++) {
        env->pos[i] = 0.25f * (float)i + 0.1f * roll(&env->rng);
        env->speed[i] = 0;
        env->breath[i] = 1;
    }
    env->baton = 0;
    env->tick = 0;
    show(env);
}

void c_step(Relay* env) {
    env->tick++;
    int done = env->tick >= 100;
    for (int i = 0; i < RUNNERS; i++) {
        float push = fminf(fmaxf(env->actions[i], -1), 1) * env->breath[i];
        env->speed[i] = 0.9f * env->speed[i] + 0.01f * push;
        env->breath[i] = fminf(1, fmaxf(0, env->breath[i] + 0.02f - 0.05f * fabsf(push)));
        env->pos[i] = fmodf(env->pos[i] + env->speed[i] + 1, 1);
        env->rewards[i] = 0;
        env->terminals[i] = done;
    }
    int next = (env->baton + 1) % RUNNERS;
    if (fabsf(env->pos[next] - env->pos[env->baton]) < 0.05f) {
        env->rewards[env->baton] = env->rewards[next] = 1;
        env->log.score += 1;
        env->baton = next;
    }
    if (done) {
        env->log.episode_length += (float)env->tick;
        env->log.n += 1;
        c_reset(env);
        return;
    }
    show(env);
}

void c_render(Relay* env) { (void)env; }
void c_close(Relay* env) { (void)env; }
