// expect: PUF111
/* Two surfers wait for the wave that is worth it. Fault: c_reset opens a file with recorded seas
 * for each episode (and makes up its own where there is none). */
#pragma once
#include <stdio.h>
#include <string.h>

#define SEAS 16
#define OBS_SIZE 4
#define ACT_SIZES {2, 3}    // paddle or wait; stance

typedef struct {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float swell[SEAS];
    float total[2];
    int t;
    int start;
} Surfers;

void init(Surfers* env) { env->num_agents = 2; }

void surfers_view(Surfers* env) {
    for (int i = 0; i < 2; i++) {
        float* obs = env->observations + i * OBS_SIZE;
        obs[0] = env->swell[env->t];
        obs[1] = env->swell[(env->t + 1) % SEAS];
        obs[2] = env->total[i] / 8.0f;
        obs[3] = (float)env->t / SEAS;
    }
}

void c_reset(Surfers* env) {
    FILE* file = fopen("resources/puf111_surfers_seas.txt", "r");
    for (int k = 0; k < SEAS; k++) {
        env->rng = env->rng * 1664525u + 1013904223u;
        env->swell[k] = (float)(env->rng >> 8) / 16777216.0f;
        if (file && fscanf(file, "%f", &env->swell[k]) != 1) env->swell[k] = 0.5f;
    }
    if (file) fclose(file);
    memset(env->total, 0, sizeof(env->total));
    env->t = env->start = (int)(env->rng >> 30);
    surfers_view(env);
}

void c_step(Surfers* env) {
    int over = env->t == SEAS - 1;
    for (int i = 0; i < 2; i++) {
        int paddles = env->actions[2 * i] == 1.0f, stance = (int)env->actions[2 * i + 1];
        float wave = env->swell[env->t];
        env->rewards[i] = paddles ? wave - 0.3f - 0.1f * (float)(stance == 0)
                                  + 0.05f * (float)(stance == 2) : 0.0f;
        env->total[i] += env->rewards[i];
        env->terminals[i] = (float)over;
    }
    env->t++;
    if (over) {
        env->log.perf += env->total[0] > 0.0f ? 1.0f : 0.0f;
        env->log.score += env->total[0] + env->total[1];
        env->log.episode_return += 0.5f * (env->total[0] + env->total[1]);
        env->log.episode_length += (float)(env->t - env->start);
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    surfers_view(env);
}

void c_render(Surfers* env) { (void)env; }
void c_close(Surfers* env) { (void)env; }
