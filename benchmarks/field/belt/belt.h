/* Belt: mining ships with continuous thrusters in an asteroid belt that wraps around.
 * Drill rocks slowly, carry the ore to the station in the middle, mind the fuel. */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define NEAR_ROCKS 3
#define OBS_SIZE 18
#define ACT_SIZES {1, 1, 1}     /* thrust x, thrust y, drill; each in [-1, 1] */
#define NUM_CONTROLS 3

#define MAX_SPEED 2.0f
#define CRASH_SPEED 1.1f
#define ROCK_RADIUS 1.5f
#define DRILL_RANGE 4.0f
#define DOCK_RADIUS 4.0f
#define FULL_HOLD 1.0f

typedef struct { float x, y; } Vec2f;

typedef struct Rock {
    Vec2f pos, vel;
    float ore;
} Rock;

typedef struct Ship {
    Vec2f pos, vel;
    float fuel, hold;
    float episodeReturn, delivered;
    int ticks;
} Ship;

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Belt {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    int num_agents;
    unsigned int rng;

    int num_rocks;
    float width, height;
    float fuel_cap;
    int max_ticks;
    float accel;

    Ship* ships;
    Rock* rocks;
} Belt;

static float frand(Belt* env, float lo, float hi) {
    unsigned int s = env->rng = env->rng * 747796405u + 2891336453u;
    unsigned int w = ((s >> ((s >> 28) + 4)) ^ s) * 277803737u;
    w = (w >> 22) ^ w;
    return lo + (hi - lo) * (float)(w >> 8) / 16777216.0f;
}

static float clampf(float v, float lo, float hi) { return fminf(fmaxf(v, lo), hi); }

/* shortest way from a to b on the torus */
static Vec2f delta(const Belt* env, Vec2f a, Vec2f b) {
    Vec2f d = {b.x - a.x, b.y - a.y};
    if (d.x > 0.5f * env->width) d.x -= env->width;
    if (d.x < -0.5f * env->width) d.x += env->width;
    if (d.y > 0.5f * env->height) d.y -= env->height;
    if (d.y < -0.5f * env->height) d.y += env->height;
    return d;
}

static float length(Vec2f v) { return sqrtf(v.x * v.x + v.y * v.y); }

static void drift(const Belt* env, Vec2f* pos, Vec2f vel) {
    pos->x = fmodf(pos->x + vel.x + env->width, env->width);
    pos->y = fmodf(pos->y + vel.y + env->height, env->height);
}

static Vec2f station(const Belt* env) {
    Vec2f s = {0.5f * env->width, 0.5f * env->height};
    return s;
}

static void spawnRock(Belt* env, Rock* rock) {
    rock->pos.x = frand(env, 0.0f, env->width);
    rock->pos.y = frand(env, 0.0f, env->height);
    rock->vel.x = frand(env, -0.05f, 0.05f);
    rock->vel.y = frand(env, -0.05f, 0.05f);
    rock->ore = frand(env, 0.4f, 1.0f);
}

static void spawnShip(Belt* env, Ship* ship) {
    float angle = frand(env, 0.0f, 6.2831853f);
    ship->pos = station(env);
    Vec2f out = {3.0f * cosf(angle), 3.0f * sinf(angle)};
    drift(env, &ship->pos, out);
    ship->vel = (Vec2f){0.0f, 0.0f};
    ship->fuel = env->fuel_cap * frand(env, 0.5f, 1.0f);
    ship->hold = 0.0f;
    ship->episodeReturn = 0.0f;
    ship->delivered = 0.0f;
    ship->ticks = 0;
}

static void look(Belt* env, int id) {
    const Ship* me = &env->ships[id];
    float* obs = env->observations + (size_t)id * OBS_SIZE;
    const float sx = 2.0f / env->width, sy = 2.0f / env->height;
    int k = 0;
    obs[k++] = me->vel.x / MAX_SPEED;
    obs[k++] = me->vel.y / MAX_SPEED;
    obs[k++] = me->fuel / env->fuel_cap;
    obs[k++] = me->hold / FULL_HOLD;
    obs[k++] = (float)me->ticks / (float)env->max_ticks;
    Vec2f home = delta(env, me->pos, station(env));
    obs[k++] = home.x * sx;
    obs[k++] = home.y * sy;

    /* the nearest rocks, by insertion */
    int best[NEAR_ROCKS], found = 0;
    float dist[NEAR_ROCKS];
    for (int r = 0; r < env->num_rocks; r++) {
        float d = length(delta(env, me->pos, env->rocks[r].pos));
        int at = found < NEAR_ROCKS ? found++ : NEAR_ROCKS;
        while (at > 0 && dist[at - 1] > d) {
            if (at < NEAR_ROCKS) { dist[at] = dist[at - 1]; best[at] = best[at - 1]; }
            at--;
        }
        if (at < NEAR_ROCKS) { dist[at] = d; best[at] = r; }
    }
    for (int i = 0; i < NEAR_ROCKS; i++) {
        Vec2f d = {0.0f, 0.0f};
        float ore = 0.0f;
        if (i < found) {
            d = delta(env, me->pos, env->rocks[best[i]].pos);
            ore = env->rocks[best[i]].ore;
        }
        obs[k++] = d.x * sx;
        obs[k++] = d.y * sy;
        obs[k++] = ore;
    }

    Vec2f mate = {0.0f, 0.0f};
    float nearest = 1e9f;
    for (int o = 0; o < env->num_agents; o++) {
        Vec2f d = delta(env, me->pos, env->ships[o].pos);
        if (o != id && length(d) < nearest) { nearest = length(d); mate = d; }
    }
    obs[k++] = mate.x * sx;
    obs[k++] = mate.y * sy;
}

void init(Belt* env) {
    if (env->fuel_cap < 1.0f) env->fuel_cap = 1.0f;
    if (env->max_ticks < 1) env->max_ticks = 1;
    env->ships = (Ship*)calloc(env->num_agents, sizeof(Ship));
    env->rocks = (Rock*)calloc(env->num_rocks, sizeof(Rock));
}

void c_reset(Belt* env) {
    for (int r = 0; r < env->num_rocks; r++) spawnRock(env, &env->rocks[r]);
    for (int i = 0; i < env->num_agents; i++) spawnShip(env, &env->ships[i]);
    for (int i = 0; i < env->num_agents; i++) look(env, i);
}

/* flies one ship; returns its reward and sets *dead when it is lost */
static float fly(Belt* env, Ship* ship, const float* control, int* dead) {
    float ax = clampf(control[0], -1.0f, 1.0f), ay = clampf(control[1], -1.0f, 1.0f);
    float reward = 0.0f;
    ship->vel.x = clampf(0.95f * ship->vel.x + env->accel * ax, -MAX_SPEED, MAX_SPEED);
    ship->vel.y = clampf(0.95f * ship->vel.y + env->accel * ay, -MAX_SPEED, MAX_SPEED);
    ship->fuel = fmaxf(0.0f, ship->fuel - fabsf(ax) - fabsf(ay));
    drift(env, &ship->pos, ship->vel);

    for (int r = 0; r < env->num_rocks; r++) {
        Rock* rock = &env->rocks[r];
        float d = length(delta(env, ship->pos, rock->pos));
        if (d < ROCK_RADIUS && length(ship->vel) > CRASH_SPEED) *dead = 1;
        if (d < DRILL_RANGE && control[2] > 0.0f && ship->hold < FULL_HOLD) {
            float bite = fminf(0.05f * fminf(control[2], 1.0f), rock->ore);
            ship->hold = fminf(ship->hold + bite, FULL_HOLD);
            rock->ore -= bite;
            reward += 0.5f * bite;
            if (rock->ore <= 0.0f) spawnRock(env, rock);
        }
    }
    if (length(delta(env, ship->pos, station(env))) < DOCK_RADIUS) {
        reward += ship->hold;
        ship->delivered += ship->hold;
        ship->hold = 0.0f;
        ship->fuel = fminf(ship->fuel + 2.0f, env->fuel_cap);
    }
    if (ship->fuel <= 0.0f) *dead = 1;
    return *dead ? reward - 1.0f : reward;
}

void c_step(Belt* env) {
    for (int r = 0; r < env->num_rocks; r++) drift(env, &env->rocks[r].pos, env->rocks[r].vel);
    for (int i = 0; i < env->num_agents; i++) {
        Ship* ship = &env->ships[i];
        int dead = 0;
        float reward = fly(env, ship, env->actions + i * NUM_CONTROLS, &dead);
        ship->ticks++;
        ship->episodeReturn += reward;
        int late = !dead && ship->ticks >= env->max_ticks;
        env->rewards[i] = reward;
        env->terminals[i] = (float)(dead || late);
        if (env->truncations) env->truncations[i] = (float)late;
        if (dead || late) {
            env->log.perf += fminf(ship->delivered / 2.0f, 1.0f);
            env->log.score += ship->delivered;
            env->log.episode_return += ship->episodeReturn;
            env->log.episode_length += (float)ship->ticks;
            env->log.n += 1.0f;
            spawnShip(env, ship);
        }
    }
    for (int i = 0; i < env->num_agents; i++) look(env, i);
}

void c_render(Belt* env) {
    const float z = 12.0f;
    if (!IsWindowReady()) {
        InitWindow((int)(z * env->width), (int)(z * env->height), "Belt");
        SetTargetFPS(30);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    DrawCircleLines((int)(z * env->width / 2), (int)(z * env->height / 2), z * DOCK_RADIUS, SKYBLUE);
    for (int r = 0; r < env->num_rocks; r++)
        DrawCircle((int)(z * env->rocks[r].pos.x), (int)(z * env->rocks[r].pos.y), z * ROCK_RADIUS, GRAY);
    for (int i = 0; i < env->num_agents; i++)
        DrawCircle((int)(z * env->ships[i].pos.x), (int)(z * env->ships[i].pos.y), 5.0f, GOLD);
    EndDrawing();
}

void c_close(Belt* env) {
    free(env->ships);
    free(env->rocks);
    env->ships = NULL;
    env->rocks = NULL;
}
