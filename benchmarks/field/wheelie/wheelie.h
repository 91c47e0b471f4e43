/**
 * @file   wheelie.h
 * @brief  Cart, pole and reaction wheel in gusty wind. Two continuous actions.
 *
 *         The pole is hinged on the cart; a flywheel at its tip can be spun up to push it
 *         upright. Wind comes and goes. SI units throughout, integrated in double precision.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include "raylib.h"

#define OBS_SIZE  9
#define ACT_SIZES {1, 1}        /* cart force, wheel torque: each in [-1, 1], clamped here */

static const double DT          = 0.02;
static const double RAIL        = 0.8;      /* m, half length */
static const double FALL_ANGLE  = 1.0;      /* rad */
static const double MASS_CART   = 1.0;
static const double MASS_POLE   = 0.15;
static const double HALF_POLE   = 0.6;
static const double WHEEL_MAX   = 40.0;     /* rad/s */
static const double WHEEL_J     = 0.004;

typedef struct Log {
    float perf;             /* share of the time limit that was survived */
    float score;            /* seconds upright */
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct State {
    double x, vx;           /* cart */
    double theta, omega;    /* pole, 0 is upright */
    double wheel;           /* flywheel speed */
} State;

typedef struct Wheelie {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    int num_agents;
    unsigned int rng;

    float gravity;
    float max_force;
    float max_torque;
    float wind;             /* strength of the strongest gust, N */
    int time_limit;
    int substeps;

    State s;
    double gust;            /* [-1, 1], what blows now; exactly 0 in a lull */
    double gust_target;
    float last_force;
    int tick;
    float episode_return;
} Wheelie;

static inline double uniform(Wheelie* env, double lo, double hi) {
    uint32_t z = (env->rng += 0x6D2B79F5u);
    z = (z ^ (z >> 15)) * (z | 1u);
    z ^= z + (z ^ (z >> 7)) * (z | 61u);
    z ^= z >> 14;
    return lo + (hi - lo) * (z / 4294967296.0);
}

static inline double clampd(double v, double lo, double hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

static inline double sign_of(double v) {
    if (v > 0.0) return 1.0;
    if (v < 0.0) return -1.0;
    return 0.0;
}

static void write_observation(Wheelie* env) {
    const State* s = &env->s;
    float* o = env->observations;
    o[0] = (float)(s->x / RAIL);
    o[1] = (float)clampd(s->vx / 3.0, -2.0, 2.0);
    o[2] = (float)sin(s->theta);
    o[3] = (float)cos(s->theta);
    o[4] = (float)clampd(s->omega / 4.0, -2.0, 2.0);
    o[5] = (float)(s->wheel / WHEEL_MAX);
    o[6] = (float)sign_of(env->gust);
    o[7] = (float)fabs(env->gust);
    o[8] = env->last_force;
}

/* Wind: one draw in fifty picks a new target, the gust creeps towards it */
static void blow(Wheelie* env) {
    if (uniform(env, 0.0, 1.0) < 0.02) {
        double pick = uniform(env, -1.5, 1.5);
        env->gust_target = fabs(pick) < 0.5 ? 0.0 : clampd(pick, -1.0, 1.0);
    }
    double d = clampd(env->gust_target - env->gust, -0.05, 0.05);
    env->gust = fabs(env->gust + d) < 1e-9 ? 0.0 : env->gust + d;
}

/* One semi-implicit Euler step, the classic cart-pole equations plus wheel reaction */
static void integrate(Wheelie* env, double force, double torque, double dt) {
    State* s = &env->s;
    const double total = MASS_CART + MASS_POLE;
    const double sn = sin(s->theta), cs = cos(s->theta);
    if (fabs(s->wheel) >= WHEEL_MAX && sign_of(s->wheel) == sign_of(torque)) {
        torque = 0.0;                               /* the motor is out of speed */
    }
    force += env->gust * env->wind;
    const double tmp = (force + MASS_POLE * HALF_POLE * s->omega * s->omega * sn) / total;
    const double inertia = HALF_POLE * (4.0 / 3.0 - MASS_POLE * cs * cs / total);
    double alpha = (env->gravity * sn - cs * tmp) / inertia;
    alpha -= torque / (MASS_POLE * HALF_POLE * HALF_POLE);
    const double ax = tmp - MASS_POLE * HALF_POLE * alpha * cs / total;
    s->vx += dt * ax;
    s->x += dt * s->vx;
    s->omega += dt * alpha;
    s->theta += dt * s->omega;
    s->wheel = clampd(s->wheel + dt * torque / WHEEL_J, -WHEEL_MAX, WHEEL_MAX);
}

static float reward_for(const Wheelie* env, double force) {
    const double upright = cos(env->s.theta);
    const double centred = 1.0 - fabs(env->s.x) / RAIL;
    return (float)(0.08 * upright + 0.02 * centred - 0.01 * force * force);
}

static void add_log(Wheelie* env) {
    env->log.perf += (float)env->tick / (float)env->time_limit;
    env->log.score += (float)(env->tick * DT);
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
}

void init(Wheelie* env) {
    if (env->substeps < 1) env->substeps = 1;
    if (env->time_limit < 1) env->time_limit = 1;
}

void c_reset(Wheelie* env) {
    env->s.x = uniform(env, -0.3, 0.3);
    env->s.vx = uniform(env, -0.2, 0.2);
    env->s.theta = uniform(env, -0.15, 0.15);
    env->s.omega = uniform(env, -0.2, 0.2);
    env->s.wheel = 0.0;
    env->gust = 0.0;
    env->gust_target = 0.0;
    env->last_force = 0.0f;
    env->tick = 0;
    env->episode_return = 0.0f;
    write_observation(env);
}

void c_step(Wheelie* env) {
    const double u = clampd(env->actions[0], -1.0, 1.0);
    const double v = clampd(env->actions[1], -1.0, 1.0);

    blow(env);
    for (int k = 0; k < env->substeps; k++) {
        integrate(env, u * env->max_force, v * env->max_torque, DT / env->substeps);
    }
    env->last_force = (float)u;
    env->tick++;

    const bool off_rail = fabs(env->s.x) > RAIL;
    const bool fell = fabs(env->s.theta) > FALL_ANGLE;
    const bool lost = off_rail || fell;
    const bool timeout = env->tick >= env->time_limit;

    const float reward = lost ? -1.0f : reward_for(env, u);
    env->episode_return += reward;
    env->rewards[0] = reward;
    env->terminals[0] = lost || timeout ? 1.0f : 0.0f;
    env->truncations[0] = timeout && !lost ? 1.0f : 0.0f;

    if (lost || timeout) {
        add_log(env);
        c_reset(env);
        return;
    }
    write_observation(env);
}

void c_render(Wheelie* env) {
    if (!IsWindowReady()) {
        InitWindow(900, 420, "wheelie");
        SetTargetFPS(50);
    }
    const float px = 450.0f + 480.0f * (float)env->s.x, py = 320.0f;
    const float tx = px + 220.0f * (float)sin(env->s.theta);
    const float ty = py - 220.0f * (float)cos(env->s.theta);
    BeginDrawing();
    ClearBackground(RAYWHITE);
    DrawLine(66, 330, 834, 330, DARKGRAY);
    DrawRectangle((int)px - 30, (int)py - 10, 60, 20, DARKBLUE);
    DrawLineEx((Vector2){px, py}, (Vector2){tx, ty}, 6.0f, BROWN);
    DrawCircle((int)tx, (int)ty, 14.0f, MAROON);
    DrawText(TextFormat("wind %+.2f", env->gust), 20, 20, 20, DARKGRAY);
    EndDrawing();
}

void c_close(Wheelie* env) {
    (void)env;
}
