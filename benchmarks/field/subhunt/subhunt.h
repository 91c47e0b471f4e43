// subhunt.h -- a destroyer hunts a submarine that it cannot see.
//
// The hydrophones give a noisy bearing at any time; an active ping gives the true
// position for a moment, but makes the submarine run. Sink it with depth charges
// before it slips out of the sea or the watch is over.

#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include "raylib.h"

//---------------------------------------------------------------- interface
enum {
    OBS_X,              // [0, 1]   own ship
    OBS_Y,              // [0, 1]
    OBS_COS,            // [-1, 1]  own heading
    OBS_SIN,            // [-1, 1]
    OBS_SPEED,          // [0, 1]
    OBS_CHARGES,        // [0, 1]   left on the rails
    OBS_WATCH,          // [0, 1]   share of the watch that is over
    OBS_RELOAD,         // [0, 1]   1 right after a charge, 0 when ready
    OBS_PING_AGE,       // [0, 1]   0 right after a ping, 1 long ago or never
    OBS_ECHO_DX,        // [-1, 1]  last echo, from where the ship is now; 0 when there is none
    OBS_ECHO_DY,        // [-1, 1]
    OBS_HYDRO_COS,      // [-1, 1]  noisy bearing of the submarine
    OBS_HYDRO_SIN,      // [-1, 1]
    OBS_LOUDNESS,       // [0, 1]   of the submarine's screws
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT
#define RUDDER   5      // 2 is amidships
#define THROTTLE 3      // slower, hold, faster
#define WEAPONS  3      // nothing, ping, depth charge
#define ACT_SIZES {RUDDER, THROTTLE, WEAPONS}
enum { HEAD_RUDDER, HEAD_THROTTLE, HEAD_WEAPON };
enum { WEAPON_NONE, WEAPON_PING, WEAPON_CHARGE };

//---------------------------------------------------------------- rules
#define SHIP_SPEED   2.0f
#define SUB_SPEED    0.5f
#define SUB_SPRINT   1.0f
#define SPRINT_TICKS 15
#define RELOAD_TICKS 10
#define ECHO_TICKS   40

typedef struct Log {
    float perf;             // share of hunts that sank the submarine
    float score;            // hits minus the share of charges spent
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Subhunt {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    // settings
    int sea;                // side of the square sea
    int charges;
    int max_ticks;
    float blast;            // radius of a depth charge
    float noise;            // of the hydrophones, radians

    // state
    float x, y, heading, speed;
    float sub_x, sub_y, sub_heading;
    float echo_x, echo_y;
    bool has_echo;
    int left, reload, ping_age, sprint, tick;
    float total;
} Subhunt;

// [0, 1)
static inline float uniform(Subhunt* env) {
    uint64_t z = (uint64_t)(env->rng += 0x9E3779B9u) * 0xBF58476D1CE4E5B9ull;
    z ^= z >> 31;
    z *= 0x94D049BB133111EBull;
    return (float)(z >> 40) / 16777216.0f;
}

static inline float clip(float v, float lo, float hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

void init(Subhunt* env) {
    if (env->charges < 1) env->charges = 1;
    if (env->max_ticks < 1) env->max_ticks = 1;
}

static void observe(Subhunt* env) {
    float* obs = env->observations;
    const float sea = (float)env->sea;
    obs[OBS_X] = env->x / sea;
    obs[OBS_Y] = env->y / sea;
    obs[OBS_COS] = cosf(env->heading);
    obs[OBS_SIN] = sinf(env->heading);
    obs[OBS_SPEED] = env->speed / SHIP_SPEED;
    obs[OBS_CHARGES] = (float)env->left / (float)env->charges;
    obs[OBS_WATCH] = (float)env->tick / (float)env->max_ticks;
    obs[OBS_RELOAD] = (float)env->reload / (float)RELOAD_TICKS;
    obs[OBS_PING_AGE] = (float)env->ping_age / (float)ECHO_TICKS;
    obs[OBS_ECHO_DX] = 0.0f;
    obs[OBS_ECHO_DY] = 0.0f;
    if (env->has_echo) {
        obs[OBS_ECHO_DX] = (env->echo_x - env->x) / sea;
        obs[OBS_ECHO_DY] = (env->echo_y - env->y) / sea;
    }
    float dx = env->sub_x - env->x, dy = env->sub_y - env->y;
    float error = env->noise * (uniform(env) + uniform(env) - 1.0f);
    float bearing = atan2f(dy, dx) + error;
    obs[OBS_HYDRO_COS] = cosf(bearing);
    obs[OBS_HYDRO_SIN] = sinf(bearing);
    float near = 1.0f - sqrtf(dx * dx + dy * dy) / (1.5f * sea);
    obs[OBS_LOUDNESS] = clip(near * (env->sprint > 0 ? 1.0f : 0.6f), 0.0f, 1.0f);
}

void c_reset(Subhunt* env) {
    const float sea = (float)env->sea;
    env->x = sea * uniform(env);
    env->y = sea * uniform(env);
    env->heading = 6.2831853f * uniform(env);
    env->speed = 0.5f * SHIP_SPEED;
    env->sub_x = sea * (0.25f + 0.5f * uniform(env));
    env->sub_y = sea * (0.25f + 0.5f * uniform(env));
    env->sub_heading = 6.2831853f * uniform(env);
    env->echo_x = env->echo_y = 0.0f;
    env->has_echo = false;
    env->left = env->charges;
    env->reload = 0;
    env->ping_age = ECHO_TICKS;
    env->sprint = 0;
    env->tick = 0;
    env->total = 0.0f;
    observe(env);
}

static void move_ship(Subhunt* env) {
    env->heading += 0.1f * (env->actions[HEAD_RUDDER] - (float)(RUDDER / 2));
    env->speed += 0.2f * (env->actions[HEAD_THROTTLE] - 1.0f);
    env->speed = clip(env->speed, 0.0f, SHIP_SPEED);
    env->x = clip(env->x + env->speed * cosf(env->heading), 0.0f, (float)env->sea);
    env->y = clip(env->y + env->speed * sinf(env->heading), 0.0f, (float)env->sea);
}

// Returns false when the submarine has left the sea
static bool move_sub(Subhunt* env) {
    float pace = env->sprint > 0 ? SUB_SPRINT : SUB_SPEED;
    if (env->sprint > 0) env->sprint--;
    env->sub_heading += 0.4f * (uniform(env) - 0.5f);
    env->sub_x += pace * cosf(env->sub_heading);
    env->sub_y += pace * sinf(env->sub_heading);
    return env->sub_x >= 0.0f && env->sub_x <= (float)env->sea
        && env->sub_y >= 0.0f && env->sub_y <= (float)env->sea;
}

static float ping(Subhunt* env) {
    env->echo_x = env->sub_x;
    env->echo_y = env->sub_y;
    env->has_echo = true;
    env->ping_age = 0;
    env->sprint = SPRINT_TICKS;
    env->sub_heading = atan2f(env->sub_y - env->y, env->sub_x - env->x);
    return -0.02f;
}

// Reward of a depth charge; *sunk is set by a hit
static float drop_charge(Subhunt* env, bool* sunk) {
    if (env->left == 0 || env->reload > 0) return 0.0f;
    env->left--;
    env->reload = RELOAD_TICKS;
    float dx = env->sub_x - env->x, dy = env->sub_y - env->y;
    float distance = sqrtf(dx * dx + dy * dy);
    *sunk = distance < env->blast;
    return *sunk ? 1.0f : distance < 2.0f * env->blast ? 0.05f : -0.05f;
}

void c_step(Subhunt* env) {
    float reward = 0.0f;
    bool sunk = false;
    env->tick++;
    if (env->reload > 0) env->reload--;
    if (env->ping_age < ECHO_TICKS) env->ping_age++;
    else env->has_echo = false;

    move_ship(env);
    bool gone = !move_sub(env);
    switch ((int)env->actions[HEAD_WEAPON]) {
        case WEAPON_PING:   reward += ping(env); break;
        case WEAPON_CHARGE: reward += drop_charge(env, &sunk); break;
        default: break;
    }
    if (gone && !sunk) reward -= 0.5f;

    bool done = sunk || gone || env->tick >= env->max_ticks;
    env->total += reward;
    env->rewards[0] = reward;
    env->terminals[0] = done ? 1.0f : 0.0f;
    if (done) {
        float spent = 1.0f - (float)env->left / (float)env->charges;
        env->log.perf += sunk ? 1.0f : 0.0f;
        env->log.score += (sunk ? 1.0f : 0.0f) - 0.5f * spent;
        env->log.episode_return += env->total;
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        c_reset(env);
    } else {
        observe(env);
    }
}

void c_render(Subhunt* env) {
    const float z = 600.0f / (float)env->sea;
    if (!IsWindowReady()) {
        InitWindow(600, 600, "subhunt");
        SetTargetFPS(20);
    }
    BeginDrawing();
    ClearBackground(DARKBLUE);
    DrawCircle((int)(z * env->x), (int)(z * env->y), 6.0f, RAYWHITE);
    DrawCircleLines((int)(z * env->sub_x), (int)(z * env->sub_y), z * env->blast, RED);
    EndDrawing();
}

void c_close(Subhunt* env) { (void)env; }
