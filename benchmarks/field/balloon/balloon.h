// Balloon: land a hot-air balloon close to a mark. It cannot be steered: it drifts with the wind,
// which is another one in each of six layers of air. The pilot has a burner and a flap that lets
// hot air out, looks for a layer that blows the right way, and comes down at the right moment,
// slowly. Leaving the map, hitting the ground hard and nightfall are all the same misfortune.
//
// Two heads: the flame, a number of which [0, 1] counts, and the flap, 0 or 1.
//
// Heat is relative: at 1 the balloon floats, below it sinks. A tick is DT seconds.
#pragma once

#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "raylib.h"

#define LAYERS 6
#define DT 2.0f                // s
#define CEILING 600.0f         // m
#define FIELD 4000.0f          // m from the mark to the edge of the map
#define MAX_WIND 8.0f          // m/s
#define MAX_CLIMB 6.0f         // m/s, up and down
#define MAX_HEAT 3.0f
#define HEATING 0.045f         // a tick of full flame
#define COOLING 0.015f         // share of the heat that a tick loses
#define VENTING 0.02f          // and so much more with an open flap
#define LIFT 1.0f              // m/s^2 for each unit of heat above 1
#define DRAG 0.2f              // 1/s

enum {
    OBS_MARK,                          // [-1, 1]  way to the mark, over FIELD
    OBS_HEIGHT,                        // [0, 1]
    OBS_CLIMB,                         // [-1, 1]
    OBS_HEAT,                          // [-1, 1]  0 floats
    OBS_GAUGE,                         // [0, 1]   pressure in the tank: root of what is left
    OBS_TIME,                          // [0, 1]   1 is nightfall
    OBS_DRIFT,                         // [-1, 1]  wind at the own height
    OBS_WINDS,                         // [-1, 1]  wind of all layers, lowest first
    OBS_COUNT = OBS_WINDS + LAYERS
};

// Required struct. Only use floats!
typedef struct {
    float perf;                // 1: landed on the mark, 0: radius away or not at all
    float score;               // metres from the mark at the end, negative
    float episode_return;
    float episode_length;
    float landed;              // in one piece, anywhere
    float fuel_left;
    float n;                   // Required as the last field
} Log;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    // settings
    int max_ticks;
    float gust;
    float burn_rate;
    float radius;
    float crash_speed;
    float progress_reward;
    float crash_cost;

    float wind[LAYERS];        // m/s
    float x, z;                // m
    float climb;               // m/s
    float heat;
    float fuel;                // [0, 1]
    float mark;                // m
    int tick;
    float ret;
} Balloon;

void init(Balloon* env) {
    if (env->max_ticks < 1) env->max_ticks = 1;
    if (env->radius < 1.0f) env->radius = 1.0f;
    if (env->burn_rate < 0.0f) env->burn_rate = 0.0f;
}

void c_close(Balloon* env) {
}

// A number from low to high
static float between(Balloon* env, float low, float high) {
    return low + (high - low) * (float)(rand_r(&env->rng) % 1000003) / 1000003.0f;
}

static float clip(float value, float low, float high) {
    return value < low ? low : value > high ? high : value;
}

static float wind_at(Balloon* env, float z) {
    int layer = (int)(z / CEILING * LAYERS);
    if (layer >= LAYERS) layer = LAYERS - 1;       // at the ceiling itself
    return env->wind[layer];
}

static void compute_observations(Balloon* env) {
    float* obs = env->observations;
    obs[OBS_MARK] = (env->mark - env->x) / FIELD;
    obs[OBS_HEIGHT] = env->z / CEILING;
    obs[OBS_CLIMB] = env->climb / MAX_CLIMB;
    obs[OBS_HEAT] = (env->heat - 1.0f) / (MAX_HEAT - 1.0f);
    obs[OBS_GAUGE] = sqrtf(env->fuel);
    obs[OBS_TIME] = (float)env->tick / env->max_ticks;
    obs[OBS_DRIFT] = wind_at(env, env->z) / MAX_WIND;
    for (int layer = 0; layer < LAYERS; layer++) {
        obs[OBS_WINDS + layer] = env->wind[layer] / MAX_WIND;
    }
}

void c_reset(Balloon* env) {
    for (int layer = 0; layer < LAYERS; layer++) {
        env->wind[layer] = between(env, -MAX_WIND, MAX_WIND);
    }
    env->x = 0.0f;
    env->z = between(env, 0.2f, 0.9f) * CEILING;
    env->climb = 0.0f;
    env->heat = between(env, 0.8f, 1.6f);
    env->fuel = between(env, 0.5f, 1.0f);
    env->mark = between(env, 300.0f, 2000.0f);
    if (rand_r(&env->rng) % 2) {
        env->mark = -env->mark;
    }
    env->tick = 0;
    env->ret = 0.0f;
    compute_observations(env);
}

static void fly(Balloon* env, float flame, int flap) {
    if (env->fuel <= 0.0f) {
        flame = 0.0f;
    }
    env->fuel -= env->burn_rate * flame;
    if (env->fuel < 0.0f) {
        env->fuel = 0.0f;
    }
    env->heat += HEATING * flame - (COOLING + (flap ? VENTING : 0.0f)) * env->heat;
    env->heat = clip(env->heat, 0.0f, MAX_HEAT);
    env->climb += DT * (LIFT * (env->heat - 1.0f) - DRAG * env->climb);
    env->climb = clip(env->climb, -MAX_CLIMB, MAX_CLIMB);

    env->x += DT * wind_at(env, env->z);
    env->z += DT * env->climb;
    if (env->z >= CEILING) {
        env->z = CEILING;
        env->climb = 0.0f;
    }
    for (int layer = 0; layer < LAYERS; layer++) {
        float wind = env->wind[layer] + between(env, -env->gust, env->gust);
        env->wind[layer] = clip(wind, -MAX_WIND, MAX_WIND);
    }
}

static void add_log(Balloon* env, float quality, int landed) {
    env->log.perf += quality;
    env->log.score -= fabsf(env->mark - env->x);
    env->log.episode_return += env->ret;
    env->log.episode_length += env->tick;
    env->log.landed += landed;
    env->log.fuel_left += env->fuel;
    env->log.n += 1.0f;
}

void c_step(Balloon* env) {
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;

    float flame = clip(env->actions[0], 0.0f, 1.0f);
    int flap = (int)env->actions[1];
    float before = fabsf(env->mark - env->x);
    fly(env, flame, flap);
    env->tick++;

    float distance = fabsf(env->mark - env->x);
    float reward = env->progress_reward * (before - distance) / 1000.0f;
    int down = env->z <= 0.0f;
    int landed = down && env->climb >= -env->crash_speed;
    int astray = distance > FIELD;
    int night = env->tick >= env->max_ticks;
    int over = down || astray || night;
    float quality = 0.0f;
    if (landed) {
        quality = fmaxf(0.0f, 1.0f - distance / env->radius);
        reward += quality;
    } else if (over) {
        reward -= env->crash_cost;
    }
    env->rewards[0] = reward;
    env->ret += reward;

    if (over) {
        env->terminals[0] = 1.0f;
        add_log(env, quality, landed);
        c_reset(env);
        return;
    }
    compute_observations(env);
}

void c_render(Balloon* env) {
    const int w = 900, h = 420;
    if (!IsWindowReady()) {
        InitWindow(w, h, "PufferLib Balloon");
        SetTargetFPS(20);
    }
    if (IsKeyDown(KEY_ESCAPE)) {
        exit(0);
    }

    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    int ground = h - 20;
    for (int layer = 0; layer < LAYERS; layer++) {
        int y = ground - (layer * 2 + 1) * (ground - 20) / (2 * LAYERS);
        int reach = (int)(env->wind[layer] / MAX_WIND * 60.0f);
        DrawLine(w / 2, y, w / 2 + reach, y, DARKBLUE);
        DrawCircle(w / 2 + reach, y, 3, DARKBLUE);
    }
    // the mark is in the middle
    int x = w / 2 + (int)((env->x - env->mark) / FIELD * w / 2);
    int y = ground - (int)(env->z / CEILING * (ground - 20));
    DrawRectangle(0, ground, w, 20, DARKGREEN);
    DrawRectangle(w / 2 - 4, ground - 8, 8, 8, GOLD);
    DrawCircle(x, y - 18, 12, env->heat > 1.0f ? RED : MAROON);
    DrawRectangle(x - 3, y - 6, 6, 6, BROWN);
    DrawText(TextFormat("tank %d%%  climb %.1f m/s", (int)(100 * env->fuel), env->climb),
        8, 8, 18, RAYWHITE);
    EndDrawing();
}
