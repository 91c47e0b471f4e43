/* pendulum.h -- swing a pendulum up and keep it there.  One agent, one continuous action.
 *
 *            O        theta = 0: upright, where every tick costs nothing
 *            |
 *            |            theta grows counter-clockwise, and so does the torque
 *      - - - + - - -
 *            |
 *            |        the motor is too weak to lift it from here:
 *            O        it has to swing, back and forth, higher each time
 *
 * Gymnasium's Pendulum-v1, physics and costs alike. An episode is max_steps long, always:
 * nothing can go wrong but time.
 *
 * The score is Gymnasium's return, so that it compares: 0 would be perfect, but swinging up
 * has its price. It counts as solved from -200 on, on average. Measured: acting at random
 * -1225, no torque at all -1220, and a pilot that pumps energy, then balances, -152
 * (measured again by tests/test_examples_control.py, which fails if it is wrong)
 *
 * Units: a rod of one metre and one kilogram, seconds, radians; a tick is DT seconds.
 */
#pragma once

#include <math.h>               // sinf, cosf, fminf, fmaxf, fabsf
#include <stdbool.h>
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what the agent sees and does --------------------------------------
enum {                          // observations, one float each
    OBS_COS,                    // [-1, 1]  1 is upright. Two numbers for one angle: they have
    OBS_SIN,                    // [-1, 1]  no jump where the angle goes from pi to -pi
    OBS_SPEED,                  // [-1, 1]  fraction of MAX_SPEED
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

// One continuous dimension. A policy draws it from a bell curve and may say anything: what is
// beyond [-1, 1] counts as -1 or 1, and 1 means MAX_TORQUE
#define ACT_SIZES {1}

//-- Rules ------------------------------------------------------------------------
#define PI_F         3.14159265f
#define DT           0.05f      // s
#define MAX_TORQUE   2.0f       // Nm; holding the rod level would take gravity / 2
#define MAX_SPEED    8.0f       // rad/s; faster it does not go
#define START_SPEED  1.0f       // rad/s; an episode begins at any angle, within +- this
#define SPEED_COST   0.1f       // a tick costs theta^2 + this * speed^2 + that * torque^2,
#define TORQUE_COST  0.001f     // at most 16.3
#define REWARD_SCALE (1.0f / 16.0f)     // rewards are -cost times this: of a size to learn from
#define UPRIGHT      0.95f      // cos(theta) above this, 18 degrees, counts as standing

//-- State: one pendulum ----------------------------------------------------------
typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  share of the ticks that it stood: the headline number
    float score;                // minus all costs, which is Gymnasium's return
    float episode_return;       // what the trainer maximises: score * REWARD_SCALE
    float episode_length;       // ticks: max_steps
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct Pendulum {
    // Shared with the trainer, which owns the arrays: fill them, never free them
    Log log;
    float* observations;        // out [OBS_SIZE]
    float* actions;             // in  [1]  any number; see ACT_SIZES
    float* rewards;             // out [1]
    float* terminals;           // out [1]  1 on the step that ended an episode, else 0
    float* truncations;         // out [1]  the same: only the clock ends episodes here
    int num_agents;             // 1
    unsigned int rng;           // this copy's seed, then its generator state

    // Settings, from [env] in pendulum.ini: matched by name, set before init
    float gravity;              // m/s^2
    int max_steps;              // ticks; then somebody else wants to play

    // Private to this file. Settings aside, c_reset sets all of it
    float theta;                // rad, [-PI_F, PI_F]
    float sine, cosine;         // of theta
    float speed;                // rad/s
    float torque;               // Nm, of the last tick: for drawing
    float cost;                 // of this episode, until now
    int stood;                  // ticks of this episode that it stood
    int tick;                   // steps of this episode
} Pendulum;

// Uniform in [-size, size). The state lives in the env, not in rand(), so that an episode
// depends only on its seed and copies can step on any thread
static inline float random_within(unsigned int* rng, float size) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return size * ((float)(bits >> 8) / 8388608.0f - 1.0f);     // 24 bits: floats hold no more
}

//-- Functions: init, c_close, then the two that matter ---------------------------
// Runs once, when the settings are known: the place to allocate, but this game needs nothing
void init(Pendulum* env) {
    if (env->max_steps < 1) env->max_steps = 1;         // progress is a fraction of it
}

// Runs last. Free what this file allocated: nothing. The trainer's arrays are not ours to free
void c_close(Pendulum* env) {
    (void)env;
}

// Sine and cosine are dear, and the next tick needs the sine again: the state keeps them
static inline void observe(Pendulum* env) {
    env->sine = sinf(env->theta);
    env->cosine = cosf(env->theta);
    env->observations[OBS_COS] = env->cosine;
    env->observations[OBS_SIN] = env->sine;
    env->observations[OBS_SPEED] = env->speed / MAX_SPEED;
}

// Begin an episode: anywhere, and hardly moving
void c_reset(Pendulum* env) {
    env->theta = random_within(&env->rng, PI_F);
    env->speed = random_within(&env->rng, START_SPEED);
    env->torque = 0.0f;
    env->cost = 0.0f;
    env->stood = 0;
    env->tick = 0;
    observe(env);
}

// Advance one tick, always in this order: pay for where it is, move, go on or end
void c_step(Pendulum* env) {
    env->torque = fminf(fmaxf(env->actions[0], -1.0f), 1.0f) * MAX_TORQUE;
    float cost = env->theta * env->theta + SPEED_COST * env->speed * env->speed
               + TORQUE_COST * env->torque * env->torque;
    env->cost += cost;
    env->tick += 1;

    // A rod turns about its end: its moment of inertia is a third of mass * length^2, which
    // is where the threes come from. The place moves by the new speed, as in Gymnasium
    float turn = 1.5f * env->gravity * env->sine + 3.0f * env->torque;
    env->speed = fminf(fmaxf(env->speed + turn * DT, -MAX_SPEED), MAX_SPEED);
    env->theta += env->speed * DT;
    if (env->theta > PI_F) env->theta -= 2.0f * PI_F;
    if (env->theta < -PI_F) env->theta += 2.0f * PI_F;
    observe(env);
    env->stood += env->cosine > UPRIGHT;

    // The clock is a truncation: the agent does not see it, and the pendulum would swing on.
    // A trainer adds what might have followed, instead of taking the end for a relief
    bool late = env->tick >= env->max_steps;
    env->rewards[0] = -cost * REWARD_SCALE;
    env->terminals[0] = late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (!late) {
        return;
    }

    env->log.perf += (float)env->stood / (float)env->tick;
    env->log.score -= env->cost;
    env->log.episode_return -= env->cost * REWARD_SCALE;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);               // the next observation opens the next episode
}

//-- Drawing: reads the state and never changes it, so a recording is true --------
#ifndef PUFFER_DEVICE
void c_render(Pendulum* env) {
    const Color night = {16, 24, 32, 255}, disc = {30, 44, 56, 255}, dim = {110, 130, 145, 255};
    const Color gold = {255, 190, 60, 255}, teal = {0, 205, 190, 255}, red = {235, 70, 80, 255};
    const Color glow = {0, 205, 190, 70};
    const int side = 560;
    const float length = 180.0f, rim = 212.0f;
    if (!IsWindowReady()) {
        InitWindow(side, side, "pendulum");
        SetTargetFPS(20);                       // a tick is 0.05 s: as fast as it would be
    }

    // Screens count y downward and degrees clockwise, from the right: upright is -90
    Vector2 axle = {(float)side / 2.0f, (float)side / 2.0f};
    Vector2 tip = {axle.x - length * env->sine, axle.y - length * env->cosine};
    const float goal = acosf(UPRIGHT) * RAD2DEG, pull = 140.0f * env->torque / MAX_TORQUE;
    Color paint = env->cosine > UPRIGHT ? teal : gold;

    BeginDrawing();
    ClearBackground(night);
    DrawCircleV(axle, rim, disc);
    DrawCircleSector(axle, rim, -90.0f - goal, -90.0f + goal, 16, glow);
    DrawLineEx(axle, tip, 16.0f, paint);
    DrawCircleV(tip, 20.0f, paint);
    DrawRing(axle, 34.0f, 42.0f, -90.0f - fmaxf(pull, 0.0f), -90.0f - fminf(pull, 0.0f), 32, red);
    DrawCircleV(axle, 11.0f, RAYWHITE);
    DrawRectangle(0, side - 6, side * env->tick / env->max_steps, 6, gold);
    DrawText(TextFormat("tick %d of %d", env->tick, env->max_steps), 14, 12, 20, RAYWHITE);
    DrawText(TextFormat("cost %.0f", env->cost), side - 120, 12, 20, RAYWHITE);
    DrawText(TextFormat("torque %+.1f", env->torque), 14, side - 38, 20, red);
    DrawText(TextFormat("score %.0f, episodes %.0f", env->log.n > 0.0f ? env->log.score
             / env->log.n : 0.0f, env->log.n), side - 280, side - 38, 20, dim);
    EndDrawing();
}
#endif
