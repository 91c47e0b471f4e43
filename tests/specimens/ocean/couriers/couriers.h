// Carry parcels along a street. Idioms: several agents, two heads, one log entry per goal,
// memory from init that c_close gives back.
#include <stdlib.h>
#include <math.h>
#include "raylib.h"

typedef struct {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct { float x; float speed; float door; int since; } Courier;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float street;
    Courier* couriers;
} Couriers;

static float somewhere(Couriers* env) {
    return env->street * (rand_r(&env->rng) / (float)RAND_MAX);
}

void init(Couriers* env) {
    env->couriers = (Courier*)calloc(env->num_agents, sizeof(Courier));
}

static void look(Couriers* env) {
    for (int i = 0; i < env->num_agents; i++) {
        Courier* c = &env->couriers[i];
        env->observations[3 * i] = (c->door - c->x) / env->street;
        env->observations[3 * i + 1] = c->speed / 8.0f;
        env->observations[3 * i + 2] = c->x / env->street;
    }
}

void c_reset(Couriers* env) {
    for (int i = 0; i < env->num_agents; i++) {
        env->couriers[i] = (Courier){somewhere(env), 0, somewhere(env), 0};
    }
    look(env);
}

void c_step(Couriers* env) {
    for (int i = 0; i < env->num_agents; i++) {
        Courier* c = &env->couriers[i];
        c->speed += env->actions[2 * i] - 1.0f;
        if (env->actions[2 * i + 1] > 0.5f) c->speed *= 0.5f;
        c->speed = fminf(fmaxf(c->speed, -8.0f), 8.0f);
        c->x = fminf(fmaxf(c->x + c->speed, 0.0f), env->street);
        c->since++;
        if (fabsf(c->x - c->door) < 3.0f) {
            env->rewards[i] = 1.0f;
            env->log.perf += fmaxf(0, 1 - c->since / 100.0f);
            env->log.score += 1;
            env->log.episode_return += 1;
            env->log.episode_length += c->since;
            env->log.n += 1;
            c->since = 0;
            c->door = somewhere(env);
        }
    }
    look(env);
}

void c_render(Couriers* env) {
    if (!IsWindowReady()) InitWindow((int)env->street, 80, "couriers");
    BeginDrawing();
    ClearBackground(BLACK);
    for (int i = 0; i < env->num_agents; i++) DrawCircle((int)env->couriers[i].x, 40, 5, RED);
    EndDrawing();
}

void c_close(Couriers* env) {
    free(env->couriers);
}
