/* hilo.h -- guess a number in four tries.  One agent, fifteen actions. */
#pragma once

#include <stdint.h>
#include <string.h>
#include "raylib.h"

#define NUMBERS 15
#define TRIES   4
#define OBS_SIZE (NUMBERS + TRIES)  // a byte for each number that is possible; tries left, one-hot
#define ACT_SIZES {NUMBERS}

typedef struct Log {
    float perf;                     // [0, 1]  share of the numbers that were found
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Hilo {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int secret, low, high, tries;   // low and high: what a player would have kept in mind
} Hilo;

static inline int random_below(unsigned int* rng, int count) {
    *rng = *rng * 1664525u + 1013904223u;
    return (int)(((uint64_t)*rng * (uint64_t)count) >> 32);
}

static void observe(Hilo* env) {
    memset(env->observations, 0, OBS_SIZE);
    for (int number = env->low; number <= env->high; number++) env->observations[number] = 1;
    env->observations[NUMBERS + env->tries - 1] = 1;
}

void c_close(Hilo* env) {
    (void)env;
}

void c_reset(Hilo* env) {
    env->secret = random_below(&env->rng, NUMBERS);
    env->low = 0;
    env->high = NUMBERS - 1;
    env->tries = TRIES;
    observe(env);
}

void c_step(Hilo* env) {
    int guess = (int)env->actions[0];
    int found = guess == env->secret;
    if (guess < env->secret && guess >= env->low) env->low = guess + 1;
    if (guess > env->secret && guess <= env->high) env->high = guess - 1;
    env->tries -= 1;

    int done = found || env->tries == 0;
    env->rewards[0] = found ? 1.0f : 0.0f;
    env->terminals[0] = done ? 1.0f : 0.0f;
    if (done) {
        env->log.perf += found ? 1.0f : 0.0f;
        env->log.score += found ? 1.0f : 0.0f;
        env->log.episode_return += found ? 1.0f : 0.0f;
        env->log.episode_length += (float)(TRIES - env->tries);
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Hilo* env) {
    const Color night = {16, 24, 32, 255}, open = {0, 205, 190, 255}, shut = {30, 44, 56, 255};
    if (!IsWindowReady()) {
        InitWindow(NUMBERS * 40, 100, "hilo");
        SetTargetFPS(2);
    }
    BeginDrawing();
    ClearBackground(night);
    for (int number = 0; number < NUMBERS; number++) {
        int possible = number >= env->low && number <= env->high;
        DrawRectangle(number * 40 + 2, 30, 36, 40, possible ? open : shut);
        DrawText(TextFormat("%d", number + 1), number * 40 + 10, 40, 20, RAYWHITE);
    }
    EndDrawing();
}
