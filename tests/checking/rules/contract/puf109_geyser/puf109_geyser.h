// expect: PUF109
/* Tourists around a geyser: stay for the view, leave before it blows. An Ocean env; its dice are
 * the C library's, seeded in my_init, which PufferLib's builds share among all envs. */
#pragma once
#include <stdlib.h>
#include <string.h>

#define TOURISTS 4

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Geyser {
    Log log;
    float* observations;        // (TOURISTS, 4)
    float* actions;             // 0 nearer, 1 away
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int ring[TOURISTS];
    float earned[TOURISTS];
    int pressure, tick;
} Geyser;

void geyser_look(Geyser* env) {
    for (int i = 0; i < TOURISTS; i++) {
        float* obs = &env->observations[4 * i];
        obs[0] = env->ring[i] / 5.0f;
        obs[1] = env->pressure / 20.0f;
        obs[2] = env->ring[(i + 1) % TOURISTS] / 5.0f;
        obs[3] = env->tick / 100.0f;
    }
}

void c_reset(Geyser* env) {
    memset(env->earned, 0, sizeof(env->earned));
    for (int i = 0; i < TOURISTS; i++) env->ring[i] = 1 + rand() % 4;
    env->pressure = rand() % 5;
    env->tick = 0;
    geyser_look(env);
}

void c_step(Geyser* env) {
    env->tick++;
    env->pressure += rand() % 3;
    int blows = env->pressure >= 20;
    for (int i = 0; i < TOURISTS; i++) {
        if (env->actions[i] == 0 && env->ring[i] > 0) env->ring[i]--;
        if (env->actions[i] == 1 && env->ring[i] < 5) env->ring[i]++;
        env->rewards[i] = 0.02f * (5 - env->ring[i]);
        if (blows && env->ring[i] < 2) env->rewards[i] = -1;
        env->earned[i] += env->rewards[i];
        env->terminals[i] = blows;
    }
    if (blows) {
        for (int i = 0; i < TOURISTS; i++) {
            env->log.perf += env->ring[i] >= 2;
            env->log.score += env->earned[i];
            env->log.episode_return += env->earned[i];
            env->log.episode_length += env->tick;
            env->log.n++;
        }
        c_reset(env);
        return;
    }
    geyser_look(env);
}

void c_render(Geyser* env) { (void)env; }
void c_close(Geyser* env) { (void)env; }
