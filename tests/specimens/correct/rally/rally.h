/* An Ocean environment with its own binding: rand(), one log entry per goal, no terminals, and
 * rewards that PufferLib's loop clears. Warnings at most. */
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"
#include "raymath.h"

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Client { int width, height; } Client;

typedef struct {
    float x, y, heading, speed;
    int ticks;
} Car;

typedef struct {
    Log log;
    Client* client;
    Car* cars;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int width, height;
    float gx, gy;
} Rally;

void rally_init(Rally* env) { env->cars = calloc(env->num_agents, sizeof(Car)); }

void compute_observations(Rally* env) {
    int k = 0;
    for (int a = 0; a < env->num_agents; a++) {
        Car* car = &env->cars[a];
        env->observations[k++] = (env->gx - car->x) / env->width;
        env->observations[k++] = (env->gy - car->y) / env->height;
        env->observations[k++] = cosf(car->heading);
        env->observations[k++] = sinf(car->heading);
        env->observations[k++] = env->rewards[a];
    }
}

void c_reset(Rally* env) {
    for (int a = 0; a < env->num_agents; a++) {
        env->cars[a] = (Car){rand() % env->width, rand() % env->height, 0, 0, 0};
    }
    env->gx = rand() % env->width;
    env->gy = rand() % env->height;
    compute_observations(env);
}

void c_step(Rally* env) {
    for (int a = 0; a < env->num_agents; a++) {
        Car* car = &env->cars[a];
        env->rewards[a] = 0;
        car->ticks++;
        car->heading += (env->actions[a] - 1) / 8;
        car->x = Clamp(car->x + 4 * cosf(car->heading), 0, env->width - 1);
        car->y = Clamp(car->y + 4 * sinf(car->heading), 0, env->height - 1);
        if (fabsf(car->x - env->gx) + fabsf(car->y - env->gy) < 40) {
            env->rewards[a] = 1;
            env->log.perf += fmaxf(0, 1 - 0.01f * car->ticks);
            env->log.score += 1;
            env->log.episode_return += 1;
            env->log.episode_length += car->ticks;
            env->log.n++;
            car->ticks = 0;
            env->gx = rand() % env->width;
            env->gy = rand() % env->height;
        }
    }
    compute_observations(env);
}

void c_render(Rally* env) {
    if (!env->client) {
        InitWindow(env->width, env->height, "rally");
        env->client = calloc(1, sizeof(Client));
    }
    if (IsKeyDown(KEY_ESCAPE)) exit(0);
    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    EndDrawing();
}

void c_close(Rally* env) {
    free(env->cars);
    if (IsWindowReady()) CloseWindow();
    free(env->client);
}
