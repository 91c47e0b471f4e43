// Rabbits look for the exit of a burrow. Idiom: burrows are dug once and shared by all envs.
#include <stdlib.h>
#include "raylib.h"

#define ROOMS 16
#define BURROWS 4

typedef struct {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct { int door[ROOMS][2]; int exit; } Burrow;

typedef struct {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Burrow* burrows;            // (BURROWS) shared, owned by the first env's array
    int burrow;
    int room[2];
    int tick;
} Warren;

static void dig(Burrow* burrow) {
    for (int r = 0; r < ROOMS; r++) {
        burrow->door[r][0] = (r + 1) % ROOMS;
        burrow->door[r][1] = rand() % ROOMS;
    }
    burrow->exit = rand() % ROOMS;
}

static void look(Warren* env) {
    for (int i = 0; i < env->num_agents; i++) {
        env->observations[2 * i] = (unsigned char)env->room[i];
        env->observations[2 * i + 1] = (unsigned char)env->burrow;
    }
}

void c_reset(Warren* env) {
    env->tick = 0;
    env->burrow = rand_r(&env->rng) % BURROWS;
    for (int i = 0; i < env->num_agents; i++) env->room[i] = rand_r(&env->rng) % ROOMS;
    look(env);
}

void c_step(Warren* env) {
    Burrow* burrow = &env->burrows[env->burrow];
    int out = 0;
    env->tick++;
    for (int i = 0; i < env->num_agents; i++) {
        env->room[i] = burrow->door[env->room[i]][(int)env->actions[i]];
        env->rewards[i] = env->room[i] == burrow->exit;
        out += env->room[i] == burrow->exit;
    }
    if (out || env->tick == 50) {
        for (int i = 0; i < env->num_agents; i++) env->terminals[i] = 1;
        env->log.perf += out > 0;
        env->log.score += out;
        env->log.episode_return += out;
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
    }
    look(env);
}

void c_render(Warren* env) {
    (void)env;
    if (!IsWindowReady()) InitWindow(200, 200, "warren");
    BeginDrawing();
    ClearBackground(DARKGREEN);
    EndDrawing();
}

void c_close(Warren* env) {
    (void)env;
}
