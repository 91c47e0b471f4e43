/*
 * snakes: many snakes in one walled arena, all of them trained at once.
 *
 * There is no board besides the observations: row i of them is the arena as snake i sees it,
 * and every change of a cell is painted into all rows as it happens.
 */
#ifndef SNAKES_H
#define SNAKES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define OBS_SIZE (env->width * env->height)
#define ACT_SIZES {4}

#define EMPTY      0
#define FOOD       1
#define MY_BODY    2
#define MY_HEAD    3
#define THEIR_BODY 4
#define THEIR_HEAD 5

#define UP    0
#define RIGHT 1
#define DOWN  2
#define LEFT  3

typedef struct Log Log;
struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
};

typedef struct Snake Snake;
struct Snake {
    int* body;          /* ring of cells, env->max_length of them */
    int head;           /* where in the ring the head is */
    int length;         /* 0: found no place yet */
    int dir;
    int hunger;
    int age;
    int eaten;
    float ret;
};

typedef struct Snakes Snakes;
struct Snakes {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int width;
    int height;
    int food;           /* pieces that lie about */
    int max_length;
    int patience;       /* ticks without food until a snake starves */
    int lying;          /* pieces that lie about just now */
    Snake* snakes;
};

static unsigned int snakes_rand(Snakes* env, unsigned int n) {
    env->rng = env->rng * 1664525u + 1013904223u;
    unsigned int x = (env->rng ^ (env->rng >> 16)) * 0x45D9F3Bu;
    x ^= x >> 15;
    return (unsigned int)(((uint64_t)x * n) >> 32);
}

static void paint(Snakes* env, int cell, int owner, int mine, int theirs) {
    for (int i = 0; i < env->num_agents; i++)
        env->observations[i * OBS_SIZE + cell] = (unsigned char)(i == owner ? mine : theirs);
}

/* A random empty cell, or -1: from a random place onward to the first that is free. */
static int free_cell(Snakes* env) {
    int cells = OBS_SIZE;
    int start = (int)snakes_rand(env, (unsigned int)cells);
    for (int k = 0; k < cells; k++) {
        int cell = (start + k) % cells;
        if (env->observations[cell] == EMPTY) return cell;
    }
    return -1;
}

static void add_food(Snakes* env) {
    while (env->lying < env->food) {
        int cell = free_cell(env);
        if (cell < 0) return;
        paint(env, cell, -1, FOOD, FOOD);
        env->lying++;
    }
}

static void spawn(Snakes* env, int i) {
    Snake* s = &env->snakes[i];
    int cell = free_cell(env);
    s->head = 0;
    s->length = cell < 0 ? 0 : 1;
    s->dir = (int)snakes_rand(env, 4);
    s->hunger = 0;
    s->age = 0;
    s->eaten = 0;
    s->ret = 0.0f;
    if (cell < 0) return;
    s->body[0] = cell;
    paint(env, cell, i, MY_HEAD, THEIR_HEAD);
}

static int segment(const Snakes* env, const Snake* s, int back) {
    return s->body[(s->head - back + env->max_length) % env->max_length];
}

static void die(Snakes* env, int i) {
    Snake* s = &env->snakes[i];
    for (int k = 0; k < s->length; k++)
        paint(env, segment(env, s, k), -1, EMPTY, EMPTY);
    env->terminals[i] = 1.0f;
    env->log.perf += (float)s->length / (float)env->max_length;
    env->log.score += (float)s->eaten;
    env->log.episode_return += s->ret;
    env->log.episode_length += (float)s->age;
    env->log.n += 1.0f;
    spawn(env, i);
}

void init(Snakes* env) {
    if (env->max_length < 2) env->max_length = 2;
    env->snakes = calloc((size_t)env->num_agents, sizeof(Snake));
    for (int i = 0; i < env->num_agents; i++)
        env->snakes[i].body = malloc((size_t)env->max_length * sizeof(int));
}

void c_close(Snakes* env) {
    for (int i = 0; i < env->num_agents; i++)
        free(env->snakes[i].body);
    free(env->snakes);
}

void c_reset(Snakes* env) {
    memset(env->observations, EMPTY, (size_t)(env->num_agents * OBS_SIZE));
    env->lying = 0;
    for (int i = 0; i < env->num_agents; i++)
        spawn(env, i);
    add_food(env);
}

static void move(Snakes* env, int i) {
    static const int DX[4] = {0, 1, 0, -1};
    static const int DY[4] = {-1, 0, 1, 0};
    Snake* s = &env->snakes[i];
    if (s->length == 0) {           /* still waiting for room */
        spawn(env, i);
        return;
    }
    int want = (int)env->actions[i];
    if (s->length == 1 || want != (s->dir + 2) % 4) s->dir = want;
    s->age++;
    s->hunger++;

    int at = segment(env, s, 0);
    int x = at % env->width + DX[s->dir];
    int y = at / env->width + DY[s->dir];
    int crash = x < 0 || x >= env->width || y < 0 || y >= env->height;
    int next = y * env->width + x;
    int there = crash ? EMPTY : env->observations[i * OBS_SIZE + next];
    if (crash || there >= MY_BODY || s->hunger > env->patience) {
        env->rewards[i] = -1.0f;
        s->ret -= 1.0f;
        die(env, i);
        return;
    }

    int grows = there == FOOD && s->length < env->max_length;
    if (!grows)
        paint(env, segment(env, s, s->length - 1), -1, EMPTY, EMPTY);
    if (grows || s->length > 1)
        paint(env, at, i, MY_BODY, THEIR_BODY);
    s->head = (s->head + 1) % env->max_length;
    s->body[s->head] = next;
    s->length += grows;
    paint(env, next, i, MY_HEAD, THEIR_HEAD);
    if (there == FOOD) {
        env->rewards[i] = 1.0f;
        s->ret += 1.0f;
        s->eaten++;
        s->hunger = 0;
        env->lying--;
    }
}

void c_step(Snakes* env) {
    memset(env->rewards, 0, (size_t)env->num_agents * sizeof(float));
    memset(env->terminals, 0, (size_t)env->num_agents * sizeof(float));
    for (int i = 0; i < env->num_agents; i++)
        move(env, i);
    add_food(env);
}

void c_render(Snakes* env) {
    const Color colors[6] = {BLACK, GREEN, ORANGE, GOLD, BLUE, SKYBLUE};
    if (!IsWindowReady()) {
        InitWindow(env->width * 24, env->height * 24, "snakes");
        SetTargetFPS(10);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    for (int c = 0; c < OBS_SIZE; c++)
        DrawRectangle(c % env->width * 24, c / env->width * 24, 23, 23,
                      colors[env->observations[c]]);
    EndDrawing();
}

#endif
