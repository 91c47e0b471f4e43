// Elevator dispatch, PufferLib Ocean style: every car is an agent, people arrive at random.
// The day ends when `quota` people were delivered, or when somebody has waited too long.
#pragma once
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "raylib.h"

#define NOOP 0
#define UP 1
#define DOWN 2

#define FLOORS 8
#define MAX_CARS 4
#define MAX_WAITING 16      // per floor
#define LIFT_OBS (FLOORS + 2*FLOORS + FLOORS + 2*MAX_CARS + 3)

typedef struct {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float abandoned;
    float n;
} Log;

typedef struct {
    int to;
    int since;
} Person;

typedef struct {
    int floor;
    int load;
    int last_move;
    int* riders;            // destination of each, `capacity` of them
    float episode_return;
} Car;

typedef struct {
    int width;
    int height;
} Client;

typedef struct {
    Client* client;
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int capacity;
    int quota;
    int patience;
    float arrival;          // people per tick
    Car* cars;
    Person* hall;           // FLOORS x MAX_WAITING
    int waiting[FLOORS];
    int delivered;
    int tick;
} Lift;

void init(Lift* env) {
    env->cars = (Car*)calloc(env->num_agents, sizeof(Car));
    for (int i = 0; i < env->num_agents; i++) {
        env->cars[i].riders = (int*)calloc(env->capacity, sizeof(int));
    }
    env->hall = (Person*)calloc(FLOORS*MAX_WAITING, sizeof(Person));
}

void add_log(Lift* env, int abandoned) {
    for (int i = 0; i < env->num_agents; i++) {
        env->log.perf += fminf(1.0f, (float)env->delivered / env->quota);
        env->log.score += env->delivered;
        env->log.episode_return += env->cars[i].episode_return;
        env->log.episode_length += env->tick;
        env->log.abandoned += abandoned;
        env->log.n += 1;
    }
}

void compute_observations(Lift* env) {
    for (int i = 0; i < env->num_agents; i++) {
        Car* car = &env->cars[i];
        float* obs = &env->observations[i*LIFT_OBS];
        int k = 0;
        for (int f = 0; f < FLOORS; f++) {
            obs[k++] = car->floor == f;
        }
        for (int f = 0; f < FLOORS; f++) {
            int oldest = 0;
            for (int p = 0; p < env->waiting[f]; p++) {
                int age = env->tick - env->hall[f*MAX_WAITING + p].since;
                if (age > oldest) oldest = age;
            }
            obs[k++] = (float)env->waiting[f] / MAX_WAITING;
            obs[k++] = (float)oldest / env->patience;
        }
        for (int f = 0; f < FLOORS; f++) {
            int n = 0;
            for (int r = 0; r < car->load; r++) {
                n += car->riders[r] == f;
            }
            obs[k++] = (float)n / env->capacity;
        }
        for (int j = 0; j < MAX_CARS; j++) {
            int there = j < env->num_agents;
            obs[k++] = there ? (float)(env->cars[j].floor - car->floor) / FLOORS : 0;
            obs[k++] = there ? (float)env->cars[j].load / env->capacity : 0;
        }
        obs[k++] = (float)car->load / env->capacity;
        obs[k++] = car->last_move;
        obs[k++] = fminf(1.0f, (float)env->delivered / env->quota);
    }
}

void c_reset(Lift* env) {
    env->tick = 0;
    env->delivered = 0;
    memset(env->waiting, 0, sizeof(env->waiting));
    for (int i = 0; i < env->num_agents; i++) {
        Car* car = &env->cars[i];
        car->floor = rand() % FLOORS;
        car->load = 0;
        car->last_move = 0;
        car->episode_return = 0;
    }
    compute_observations(env);
}

void arrive(Lift* env) {
    if ((float)rand() / (float)RAND_MAX >= env->arrival) {
        return;
    }
    int from = rand() % 2 ? 0 : rand() % FLOORS;
    int to = (from + 1 + rand() % (FLOORS - 1)) % FLOORS;
    if (env->waiting[from] < MAX_WAITING) {
        Person* p = &env->hall[from*MAX_WAITING + env->waiting[from]];
        p->to = to;
        p->since = env->tick;
        env->waiting[from]++;
    }
}

void open_doors(Lift* env, int i) {
    Car* car = &env->cars[i];
    int kept = 0;
    for (int r = 0; r < car->load; r++) {
        if (car->riders[r] == car->floor) {
            env->rewards[i] += 0.2f;
            env->delivered++;
        } else {
            car->riders[kept++] = car->riders[r];
        }
    }
    car->load = kept;
    Person* queue = &env->hall[car->floor*MAX_WAITING];
    int boarded = 0;
    while (boarded < env->waiting[car->floor] && car->load < env->capacity) {
        car->riders[car->load++] = queue[boarded++].to;
    }
    env->waiting[car->floor] -= boarded;
    memmove(queue, queue + boarded, env->waiting[car->floor] * sizeof(Person));
}

// Rewards and terminals were cleared by the loop
void c_step(Lift* env) {
    env->tick++;
    for (int i = 0; i < env->num_agents; i++) {
        Car* car = &env->cars[i];
        int action = (int)env->actions[i];
        car->last_move = 0;
        if (action == NOOP) {
            open_doors(env, i);
        } else if (action == UP && car->floor < FLOORS - 1) {
            car->floor++;
            car->last_move = 1;
        } else if (action == DOWN && car->floor > 0) {
            car->floor--;
            car->last_move = -1;
        }
    }
    arrive(env);

    int abandoned = 0;
    for (int f = 0; f < FLOORS; f++) {
        if (env->waiting[f] > 0 && env->tick - env->hall[f*MAX_WAITING].since > env->patience) {
            abandoned = 1;
        }
    }
    int done = abandoned || env->delivered >= env->quota;
    for (int i = 0; i < env->num_agents; i++) {
        if (abandoned) env->rewards[i] -= 1.0f;
        else if (done) env->rewards[i] += 1.0f;
        env->cars[i].episode_return += env->rewards[i];
        if (done) env->terminals[i] = 1;
    }
    if (done) {
        add_log(env, abandoned);
        c_reset(env);
        return;
    }
    compute_observations(env);
}

Client* make_client(void) {
    Client* client = (Client*)calloc(1, sizeof(Client));
    client->width = 400;
    client->height = FLOORS*60;
    InitWindow(client->width, client->height, "PufferLib Lift");
    SetTargetFPS(10);
    return client;
}

void c_render(Lift* env) {
    if (IsKeyDown(KEY_ESCAPE)) exit(0);
    if (env->client == NULL) env->client = make_client();
    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    for (int i = 0; i < env->num_agents; i++) {
        DrawRectangle(100 + 60*i, (FLOORS - 1 - env->cars[i].floor)*60, 50, 56, RED);
    }
    EndDrawing();
}

void c_close(Lift* env) {
    for (int i = 0; i < env->num_agents; i++) {
        free(env->cars[i].riders);
    }
    free(env->cars);
    free(env->hall);
    if (env->client != NULL) {
        CloseWindow();
        free(env->client);
    }
}
