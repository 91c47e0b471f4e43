/* Guards walk through a museum. An Ocean env; what all envs share is read only while they play:
 * the plan of the rooms, made by whoever comes first and freed by whoever goes last. */
#pragma once
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define ROOMS 9
#define GUARDS 3

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Client { Texture2D floor; } Client;

typedef struct {
    Log log;
    Client* client;
    unsigned char* observations;    // (GUARDS, ROOMS)
    float* actions;                 // (GUARDS, 2): where to, torch
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int max_steps;
    int at[GUARDS], thief, tick;
    float earned[GUARDS];
} Museum;

static unsigned char* doors;        // (ROOMS, 4) the room behind each door
static int guarded;                 // envs that use it

void museum_open(Museum* env) {
    env->num_agents = GUARDS;
    if (guarded++ > 0) return;
    doors = malloc(ROOMS * 4);
    for (int r = 0; r < ROOMS; r++) {
        int x = r % 3, y = r / 3;
        doors[4 * r] = 3 * y + (x + 1) % 3;
        doors[4 * r + 1] = 3 * y + (x + 2) % 3;
        doors[4 * r + 2] = 3 * ((y + 1) % 3) + x;
        doors[4 * r + 3] = 3 * ((y + 2) % 3) + x;
    }
}

int museum_random(Museum* env, int n) {
    env->rng = env->rng * 1103515245u + 12345u;
    return (env->rng >> 16) % n;
}

void compute_observations(Museum* env) {
    memset(env->observations, 0, GUARDS * ROOMS);
    for (int i = 0; i < GUARDS; i++) {
        unsigned char* obs = env->observations + ROOMS * i;
        for (int k = 0; k < GUARDS; k++) obs[env->at[k]] = k == i ? 3 : 2;
        if (obs[env->thief] == 0) obs[env->thief] = 1;
    }
}

void c_reset(Museum* env) {
    for (int i = 0; i < GUARDS; i++) env->at[i] = museum_random(env, ROOMS);
    memset(env->earned, 0, sizeof(env->earned));
    env->thief = museum_random(env, ROOMS);
    env->tick = 0;
    compute_observations(env);
}

void c_step(Museum* env) {
    env->tick++;
    int caught = 0;
    for (int i = 0; i < GUARDS; i++) {
        int move = env->actions[2 * i];
        int torch = env->actions[2 * i + 1];
        if (move < 4) env->at[i] = doors[4 * env->at[i] + move];
        env->rewards[i] = torch ? -0.02f : 0;
        if (env->at[i] == env->thief && (torch == 1 || museum_random(env, 3) == 0)) caught = 1;
    }
    if (!caught) env->thief = doors[4 * env->thief + museum_random(env, 4)];
    int over = caught || env->tick >= env->max_steps;
    for (int i = 0; i < GUARDS; i++) {
        env->rewards[i] += caught ? 1 : 0;
        env->earned[i] += env->rewards[i];
        env->terminals[i] = over;
    }
    if (over) {
        for (int i = 0; i < GUARDS; i++) {
            env->log.perf += caught;
            env->log.score += caught;
            env->log.episode_return += env->earned[i];
            env->log.episode_length += env->tick;
            env->log.n++;
        }
        c_reset(env);
        return;
    }
    compute_observations(env);
}

void c_render(Museum* env) {
    if (env->client == NULL) {
        InitWindow(300, 300, "museum");
        env->client = calloc(1, sizeof(Client));
    }
    BeginDrawing();
    for (int i = 0; i < GUARDS; i++) DrawCircle(50 + 100 * (env->at[i] % 3), 50 + 100 * (env->at[i] / 3), 20, BLUE);
    EndDrawing();
}

void c_close(Museum* env) {
    if (--guarded == 0) {
        free(doors);
        doors = NULL;
    }
    free(env->client);
}
