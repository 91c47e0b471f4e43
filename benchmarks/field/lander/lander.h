// lander.h: bring a small craft down on a pad that lies somewhere else every time.
// One agent, two continuous actions: the main engine (below 0 it is off) and the side jets.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>
#include "raylib.h"

#define PI_F      3.14159265f
#define DT        0.05f
#define GRAVITY   0.55f
#define POWER     2.1f
#define SPIN_MAX  3.0f
#define SPEED_MAX 2.0f
#define CEILING   1.6f

enum {
    OBS_X,          // [-1, 1]
    OBS_Y,          // [0, 1.6]
    OBS_VX,         // [-2, 2]
    OBS_VY,         // [-2, 2]
    OBS_SIN,        // [-1, 1]
    OBS_COS,        // [-1, 1]
    OBS_SPIN,       // [-3, 3]
    OBS_FUEL,       // [0, 1]
    OBS_PAD_DX,     // [-2, 2]
    OBS_SLOPE,      // [-1, 1]
    OBS_WIND,       // [-0.25, 0.25]
    OBS_CLOCK,      // [0, 1]
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT
#define ACT_SIZES {1, 1}

typedef struct Log {
    float perf;             // 1 a landing, else how near the pad it came to rest
    float score;
    float episode_return;
    float episode_length;
    float landed, crashed, timed_out;
    float n;
} Log;

typedef struct Craft {
    float x, y, vx, vy;
    float angle, spin;      // 0 upright, counter-clockwise
    float fuel;
} Craft;

typedef struct Lander {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    int num_agents;
    unsigned int rng;

    int max_ticks;
    float fuel_use;         // fuel a second at full throttle
    float wind_max;         // at most 0.25

    Craft craft;
    float pad;
    float wind;
    float shaping;          // potential of the last tick
    float total;
    int tick;
} Lander;

static inline float uniform(Lander* env, float low, float high) {
    if (env->rng == 0) env->rng = 0x2545F491u;      // xorshift has one dead state
    env->rng ^= env->rng << 13;
    env->rng ^= env->rng >> 17;
    env->rng ^= env->rng << 5;
    return low + (high - low) * ((float)((env->rng * 0x9E3779B1u) >> 8) / 16777216.0f);
}

static inline float clip(float v, float low, float high) {
    return v < low ? low : v > high ? high : v;
}

static inline float potential(const Lander* env) {
    const Craft* c = &env->craft;
    float dx = c->x - env->pad;
    return -0.6f * sqrtf(dx * dx + c->y * c->y) - 0.2f * sqrtf(c->vx * c->vx + c->vy * c->vy)
         - 0.1f * fabsf(c->angle);
}

static void write_obs(Lander* env) {
    const Craft* c = &env->craft;
    float* o = env->observations;
    float dx = env->pad - c->x;
    float reach = sqrtf(dx * dx + c->y * c->y);
    o[OBS_X] = c->x;
    o[OBS_Y] = c->y;
    o[OBS_VX] = clip(c->vx, -SPEED_MAX, SPEED_MAX);
    o[OBS_VY] = clip(c->vy, -SPEED_MAX, SPEED_MAX);
    o[OBS_SIN] = sinf(c->angle);
    o[OBS_COS] = cosf(c->angle);
    o[OBS_SPIN] = c->spin;
    o[OBS_FUEL] = c->fuel;
    o[OBS_PAD_DX] = dx;
    o[OBS_SLOPE] = reach > 1e-6f ? dx / reach : 0.0f;
    o[OBS_WIND] = env->wind;
    o[OBS_CLOCK] = (float)env->tick / (float)env->max_ticks;
}

void init(Lander* env) {
    if (env->max_ticks < 1) env->max_ticks = 1;
    env->wind_max = clip(env->wind_max, 0.0f, 0.25f);
}

void c_close(Lander* env) {
    (void)env;
}

void c_reset(Lander* env) {
    Craft* c = &env->craft;
    memset(c, 0, sizeof *c);
    c->x = uniform(env, -0.6f, 0.6f);
    c->y = uniform(env, 1.0f, 1.4f);
    c->vx = uniform(env, -0.3f, 0.3f);
    c->vy = uniform(env, -0.2f, 0.2f);
    c->angle = uniform(env, -0.4f, 0.4f);
    c->spin = uniform(env, -0.3f, 0.3f);
    c->fuel = 1.0f;
    env->pad = uniform(env, -0.7f, 0.7f);
    env->wind = uniform(env, -env->wind_max, env->wind_max);
    env->tick = 0;
    env->total = 0.0f;
    env->shaping = potential(env);
    write_obs(env);
}

static void fly(Lander* env, float main_engine, float jets) {
    Craft* c = &env->craft;
    if (c->fuel <= 0.0f) main_engine = jets = 0.0f;
    c->fuel -= env->fuel_use * DT * (main_engine + 0.2f * fabsf(jets));
    if (c->fuel < 0.0f) c->fuel = 0.0f;

    c->spin = clip(c->spin + (1.5f * jets - 0.3f * c->spin) * DT, -SPIN_MAX, SPIN_MAX);
    c->angle += c->spin * DT;
    if (c->angle > PI_F) c->angle -= 2.0f * PI_F;
    if (c->angle < -PI_F) c->angle += 2.0f * PI_F;

    c->vx += (-POWER * main_engine * sinf(c->angle) + env->wind) * DT;
    c->vy += (POWER * main_engine * cosf(c->angle) - GRAVITY) * DT;
    c->x += c->vx * DT;
    c->y += c->vy * DT;
    if (c->x < -1.0f) { c->x = -1.0f; c->vx = 0.0f; }
    if (c->x > 1.0f) { c->x = 1.0f; c->vx = 0.0f; }
    if (c->y > CEILING) { c->y = CEILING; c->vy = 0.0f; }
}

void c_step(Lander* env) {
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    env->truncations[0] = 0.0f;
    float throttle = clip(env->actions[0], 0.0f, 1.0f);
    float jets = clip(env->actions[1], -1.0f, 1.0f);
    fly(env, throttle, jets);
    env->tick++;

    Craft* c = &env->craft;
    int down = c->y <= 0.0f;
    if (down) c->y = 0.0f;
    float now = potential(env);
    float reward = now - env->shaping - 0.01f * throttle;
    env->shaping = now;

    int soft = fabsf(c->vy) < 0.8f && fabsf(c->vx) < 0.5f && fabsf(c->angle) < 0.6f;
    int landed = down && soft && fabsf(c->x - env->pad) < 0.3f;
    int late = !down && env->tick >= env->max_ticks;
    if (landed) reward += 1.0f;
    else if (down) reward -= 1.0f;
    env->rewards[0] = reward;
    env->total += reward;
    if (!down && !late) {
        write_obs(env);
        return;
    }

    env->terminals[0] = 1.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    env->log.perf += landed ? 1.0f : 0.5f * clip(1.0f - fabsf(c->x - env->pad), 0.0f, 1.0f);
    env->log.score += env->total;
    env->log.episode_return += env->total;
    env->log.episode_length += (float)env->tick;
    env->log.landed += (float)landed;
    env->log.crashed += (float)(down && !landed);
    env->log.timed_out += (float)late;
    env->log.n += 1.0f;
    c_reset(env);
}

void c_render(Lander* env) {
    if (!IsWindowReady()) {
        InitWindow(640, 512, "lander");
        SetTargetFPS(20);
    }
    const Craft* c = &env->craft;
    int x = (int)(320 + 320 * c->x), y = (int)(500 - 300 * c->y);
    BeginDrawing();
    ClearBackground(BLACK);
    DrawRectangle((int)(320 + 320 * (env->pad - 0.3f)), 500, 192, 6, GREEN);
    DrawLine(x, y, x - (int)(24 * sinf(c->angle)), y - (int)(24 * cosf(c->angle)), RAYWHITE);
    DrawText(TextFormat("fuel %.2f  wind %.2f", c->fuel, env->wind), 10, 10, 20, RAYWHITE);
    EndDrawing();
}
