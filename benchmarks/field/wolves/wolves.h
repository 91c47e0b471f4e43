// wolves -- predators and prey on one meadow, from dawn to a dusk that nobody knows exactly.
//   Agents [0, num_wolves) hunt, the others graze. The dead wait for the next dawn: their rows
//   are blank, their actions mean nothing. A day ends at dusk or with the last sheep, for all.
#pragma once
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define SELF_OBS  7                 // alive, wolf, x, y, stamina, daylight, weariness
#define OTHER_OBS 4                 // seen, dx, dy, its heading towards us
#define OBS_SIZE  (SELF_OBS + OTHER_OBS * (env->num_agents - 1))
#define NUM_HEADS 2
#define ACT_SIZES {9, 2}            // stay or one of eight ways; walk or sprint

#define MEADOW    20.0f             // length of a side
#define WOLF_PACE 0.9f
#define SHEEP_PACE 0.8f
#define JAWS      1.0f              // reach of a bite
#define STAMINA   10.0f

typedef struct { float perf, score, episode_return, episode_length, kills, n; } Log;

typedef struct {
    float x, y;
    float fx, fy;                   // the way it last walked, a unit vector or zeros
    float stamina;
    float earned;                   // sum of the day's rewards
    bool alive;
} Animal;

typedef struct {
    Log log;
    float *observations, *actions, *rewards, *terminals;
    int num_agents;
    int num_wolves;
    int day_min, day_max;           // ticks
    unsigned rng;

    Animal *animals;
    float *nearest;                 // per agent: distance to the closest foe
    int tick, dusk;
    int sheep_left;
    int kills;
} Wolves;

static inline uint32_t next_bits(Wolves *env) {
    uint32_t z = (env->rng += 0x9E3779B9u);
    z = (z ^ (z >> 16)) * 0x85EBCA6Bu;
    z = (z ^ (z >> 13)) * 0xC2B2AE35u;
    return z ^ (z >> 16);
}
static inline float frand(Wolves *env) { return (next_bits(env) >> 8) * (1.0f / 16777216.0f); }

static inline bool is_wolf(const Wolves *env, int a) { return a < env->num_wolves; }

void init(Wolves *env) {
    if (env->num_wolves > env->num_agents) env->num_wolves = env->num_agents;
    if (env->num_wolves < 0) env->num_wolves = 0;
    if (env->day_min < 1) env->day_min = 1;
    if (env->day_max < env->day_min) env->day_max = env->day_min;
    env->animals = calloc(env->num_agents, sizeof *env->animals);
    env->nearest = calloc(env->num_agents, sizeof *env->nearest);
}

void c_close(Wolves *env) {
    free(env->nearest);
    free(env->animals);
    env->nearest = NULL;
    env->animals = NULL;
}

static void look(Wolves *env) {
    const float light = (float)env->tick / (float)env->day_max;
    for (int a = 0; a < env->num_agents; a++) {
        float *row = env->observations + a * OBS_SIZE;
        const Animal *me = &env->animals[a];
        memset(row, 0, OBS_SIZE * sizeof *row);
        env->nearest[a] = MEADOW;
        if (!me->alive) continue;
        row[0] = 1.0f;
        row[1] = is_wolf(env, a);
        row[2] = me->x / MEADOW;
        row[3] = me->y / MEADOW;
        row[4] = me->stamina / STAMINA;
        row[5] = 1.0f - light;
        row[6] = me->earned / (1.0f + fabsf(me->earned));
        float *seen = row + SELF_OBS;
        for (int b = 0; b < env->num_agents; b++) {
            if (b == a) continue;
            const Animal *it = &env->animals[b];
            if (it->alive) {
                float dx = it->x - me->x, dy = it->y - me->y;
                float dist = sqrtf(dx * dx + dy * dy);
                seen[0] = is_wolf(env, b) ? 1.0f : -1.0f;
                seen[1] = dx / MEADOW;
                seen[2] = dy / MEADOW;
                seen[3] = dist > 0.0f ? -(it->fx * dx + it->fy * dy) / dist : 0.0f;
                if (is_wolf(env, a) != is_wolf(env, b) && dist < env->nearest[a])
                    env->nearest[a] = dist;
            }
            seen += OTHER_OBS;
        }
    }
}

void c_reset(Wolves *env) {
    env->tick = 0;
    env->kills = 0;
    env->sheep_left = env->num_agents - env->num_wolves;
    env->dusk = env->day_min + (int)(frand(env) * (env->day_max - env->day_min + 1));
    if (env->dusk > env->day_max) env->dusk = env->day_max;
    for (int a = 0; a < env->num_agents; a++) {
        Animal *me = &env->animals[a];
        me->x = MEADOW * frand(env);
        me->y = MEADOW * frand(env);
        me->fx = me->fy = 0.0f;
        me->stamina = STAMINA;
        me->earned = 0.0f;
        me->alive = true;
    }
    look(env);
}

static void walk(Wolves *env, int a) {
    Animal *me = &env->animals[a];
    const float *act = env->actions + a * NUM_HEADS;
    const int way = (int)act[0];
    const bool sprint = act[1] > 0.5f && me->stamina >= 1.0f && way > 0;
    float pace = is_wolf(env, a) ? WOLF_PACE : SHEEP_PACE;
    if (sprint) {
        pace *= 1.8f;
        me->stamina -= 1.0f;
    } else {
        me->stamina = fminf(STAMINA, me->stamina + 0.25f);
    }
    me->fx = me->fy = 0.0f;
    if (way == 0) return;
    const float turn = (float)(way - 1) * 0.78539816f;
    me->fx = cosf(turn);
    me->fy = sinf(turn);
    me->x = fminf(fmaxf(me->x + pace * me->fx, 0.0f), MEADOW);
    me->y = fminf(fmaxf(me->y + pace * me->fy, 0.0f), MEADOW);
}

static void hunt(Wolves *env) {
    for (int w = 0; w < env->num_wolves; w++) {
        for (int s = env->num_wolves; s < env->num_agents; s++) {
            Animal *sheep = &env->animals[s];
            if (!sheep->alive) continue;
            float dx = sheep->x - env->animals[w].x, dy = sheep->y - env->animals[w].y;
            if (dx * dx + dy * dy > JAWS * JAWS) continue;
            sheep->alive = false;
            env->sheep_left--;
            env->kills++;
            env->rewards[w] += 0.5f;
            env->rewards[s] -= 1.0f;
        }
    }
}

void c_step(Wolves *env) {
    for (int a = 0; a < env->num_agents; a++) {
        env->rewards[a] = 0.0f;
        env->terminals[a] = 0.0f;
        if (env->animals[a].alive) walk(env, a);
    }
    env->tick++;
    for (int a = env->num_wolves; a < env->num_agents; a++)
        if (env->animals[a].alive && env->nearest[a] > 3.0f)
            env->rewards[a] += 0.02f;           // grazes in peace
    hunt(env);

    const bool over = env->sheep_left == 0 || env->tick >= env->dusk;
    for (int a = 0; a < env->num_agents; a++) {
        if (over && !is_wolf(env, a) && env->animals[a].alive) env->rewards[a] += 0.5f;
        env->animals[a].earned += env->rewards[a];
    }
    if (!over) {
        look(env);
        return;
    }
    const int flock = env->num_agents - env->num_wolves;
    for (int a = 0; a < env->num_agents; a++) {
        env->terminals[a] = 1.0f;
        env->log.perf += flock > 0 ? (float)env->kills / (float)flock : 0.0f;
        env->log.score += env->animals[a].earned;
        env->log.episode_return += env->animals[a].earned;
        env->log.episode_length += env->tick;
        env->log.kills += env->kills;
        env->log.n += 1.0f;
    }
    c_reset(env);
}

void c_render(Wolves *env) {
    if (!IsWindowReady()) {
        InitWindow(600, 600, "wolves");
        SetTargetFPS(15);
    }
    BeginDrawing();
    ClearBackground(DARKGREEN);
    for (int a = 0; a < env->num_agents; a++) {
        const Animal *me = &env->animals[a];
        if (me->alive) DrawCircle(me->x * 30, me->y * 30, 10, is_wolf(env, a) ? GRAY : RAYWHITE);
    }
    EndDrawing();
}
