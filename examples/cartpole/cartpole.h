/* cartpole.h -- keep a pole upright by pushing the cart it stands on.  One agent, two actions.
 *
 *                    /   theta: the pole's lean, in radians; past 12 degrees it is lost
 *                   /
 *     <- push  +---o---+  push ->
 *              +-------+
 *     |-----------o-----------------|   x: the cart, in metres; past 2.4 it is lost
 *
 * The classic of Barto, Sutton and Anderson (1983), with Gymnasium's physics and limits:
 * +1 for every tick, until the pole falls, the cart leaves, or max_steps are over.
 *
 * The score is the ticks that the pole stood. At the 200 of cartpole.ini it counts as solved
 * from 195 on. Measured: acting at random 22, pushing one way for ever 9.4, and a linear pilot
 * that weighs the four observations 200, every time
 * (measured again by tests/test_examples_control.py, which fails if it is wrong)
 *
 * Units: metres, kilograms, seconds, newtons, radians; a tick is dt seconds. x grows to the
 * right, theta clockwise from upright.
 */
#pragma once

#include <math.h>               // sinf, cosf, fabsf
#include <stdbool.h>
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what the agent sees and does --------------------------------------
enum {                          // observations, one float each, unscaled as in Gymnasium
    OBS_X,                      // [-2.4, 2.4]  the cart
    OBS_X_SPEED,                // [-10, 10]    3 is much
    OBS_THETA,                  // [-0.2095, 0.2095]  the pole's lean
    OBS_THETA_SPEED,            // [-10, 10]    3 is much
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

enum {                          // actions, pick one: there is no standing still
    ACT_LEFT,
    ACT_RIGHT,
    ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT}

//-- Rules ------------------------------------------------------------------------
#define MAX_X        2.4f       // farther from the centre, the cart is lost
#define MAX_THETA    0.20943951f    // 12 degrees; farther from upright, the pole is lost
#define START        0.05f      // an episode begins with all four within +- this
#define REWARD       1.0f       // for every tick, the last one too

//-- State: one cart and its pole -------------------------------------------------
typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  score / max_steps: the headline number
    float score;                // ticks that the pole stood
    float episode_return;       // what the trainer maximises; here the same
    float episode_length;       // ticks, which here is the same once more
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct Cartpole {
    // Shared with the trainer, which owns the arrays: fill them, never free them
    Log log;
    float* observations;        // out [OBS_SIZE]
    float* actions;             // in  [1]  an ACT_ value, stored as a float
    float* rewards;             // out [1]
    float* terminals;           // out [1]  1 on the step that ended an episode, else 0
    float* truncations;         // out [1]  1 where it was the clock that ended it, else 0
    int num_agents;             // 1
    unsigned int rng;           // this copy's seed, then its generator state

    // Settings, from [env] in cartpole.ini: matched by name, set before init
    float cart_mass;            // kg
    float pole_mass;            // kg, spread evenly along the pole
    float pole_length;          // m, from the hinge to the pole's middle: half of the pole
    float gravity;              // m/s^2
    float force_mag;            // N, of either push
    float dt;                   // s, of one tick
    int max_steps;              // ticks; then somebody else wants to play

    // Private to this file. Settings aside, c_reset sets all of it
    float x, x_speed;           // m, m/s
    float theta, theta_speed;   // rad, rad/s
    int tick;                   // steps of this episode
} Cartpole;

// Uniform in [-size, size). The state lives in the env, not in rand(), so that an episode
// depends only on its seed and copies can step on any thread
static inline float random_within(unsigned int* rng, float size) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return size * ((float)(bits >> 8) / 8388608.0f - 1.0f);     // 24 bits: floats hold no more
}

static inline void observe(Cartpole* env) {
    env->observations[OBS_X] = env->x;
    env->observations[OBS_X_SPEED] = env->x_speed;
    env->observations[OBS_THETA] = env->theta;
    env->observations[OBS_THETA_SPEED] = env->theta_speed;
}

//-- Functions: init, c_close, then the two that matter ---------------------------
// Runs once, when the settings are known: the place to allocate, but this game needs nothing
void init(Cartpole* env) {
    if (env->max_steps < 1) env->max_steps = 1;         // progress is a fraction of it
}

// Runs last. Free what this file allocated: nothing. The trainer's arrays are not ours to free
void c_close(Cartpole* env) {
    (void)env;
}

// Begin an episode: nearly upright, nearly at rest, nearly in the centre
void c_reset(Cartpole* env) {
    env->x = random_within(&env->rng, START);
    env->x_speed = random_within(&env->rng, START);
    env->theta = random_within(&env->rng, START);
    env->theta_speed = random_within(&env->rng, START);
    env->tick = 0;
    observe(env);
}

// One tick of the equations of motion (Florian 2007, without friction), by Euler's method.
// Places move by the speeds of the tick before, as in Gymnasium: with the new ones the game
// would be another, and easier
static inline void move(Cartpole* env, float force) {
    const float mass = env->cart_mass + env->pole_mass;
    const float moment = env->pole_mass * env->pole_length;
    const float sine = sinf(env->theta), cosine = cosf(env->theta);
    float push = (force + moment * env->theta_speed * env->theta_speed * sine) / mass;
    float turn = (env->gravity * sine - cosine * push)
               / (env->pole_length * (4.0f / 3.0f - env->pole_mass * cosine * cosine / mass));
    float pull = push - moment * turn * cosine / mass;

    env->x += env->dt * env->x_speed;
    env->x_speed += env->dt * pull;
    env->theta += env->dt * env->theta_speed;
    env->theta_speed += env->dt * turn;
}

// Advance one tick, always in this order: push, move, end or go on
void c_step(Cartpole* env) {
    move(env, env->actions[0] == (float)ACT_RIGHT ? env->force_mag : -env->force_mag);
    env->tick += 1;

    // The clock is a truncation: nothing went wrong, and nothing that the agent sees says how
    // late it is. A trainer that took it for a fall would blame the last, perfect ticks. So it
    // adds what might have followed; where the pole fell on that very tick, nothing would have
    bool lost = fabsf(env->x) > MAX_X || fabsf(env->theta) > MAX_THETA;
    bool late = env->tick >= env->max_steps;
    env->rewards[0] = REWARD;
    env->terminals[0] = lost || late ? 1.0f : 0.0f;
    env->truncations[0] = late && !lost ? 1.0f : 0.0f;
    if (!lost && !late) {
        observe(env);
        return;
    }

    env->log.perf += (float)env->tick / (float)env->max_steps;
    env->log.score += (float)env->tick;
    env->log.episode_return += (float)env->tick * REWARD;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);               // the next observation opens the next episode
}

//-- Drawing: reads the state and never changes it, so a recording is true --------
#ifndef PUFFER_DEVICE
void c_render(Cartpole* env) {
    const Color night = {16, 24, 32, 255}, ground = {30, 44, 56, 255}, dim = {90, 110, 125, 255};
    const Color gold = {255, 190, 60, 255}, teal = {0, 205, 190, 255}, red = {235, 70, 80, 255};
    const int width = 800, height = 400, rail = 310;
    const float scale = 150.0f;                 // pixels per metre
    if (!IsWindowReady()) {
        InitWindow(width, height, "cartpole");
        SetTargetFPS(50);                       // a tick is 0.02 s: as fast as it would be
    }

    float left = (float)width / 2.0f - MAX_X * scale, right = (float)width - left;
    float cart = (float)width / 2.0f + env->x * scale;
    float hinge = (float)rail - 26.0f, pole = 2.0f * env->pole_length * scale;
    Vector2 foot = {cart, hinge};
    Vector2 tip = {cart + pole * sinf(env->theta), hinge - pole * cosf(env->theta)};
    Vector2 lean_left = {cart - pole * sinf(MAX_THETA), hinge - pole * cosf(MAX_THETA)};
    Vector2 lean_right = {cart + pole * sinf(MAX_THETA), hinge - pole * cosf(MAX_THETA)};
    bool danger = fabsf(env->theta) > 0.6f * MAX_THETA || fabsf(env->x) > 0.8f * MAX_X;

    BeginDrawing();
    ClearBackground(night);
    DrawRectangle(0, rail, width, height - rail, ground);
    DrawRectangle((int)left, rail, (int)(right - left), 4, dim);
    DrawRectangle((int)left - 4, rail - 30, 4, 34, red);        // the cart's centre must not
    DrawRectangle((int)right, rail - 30, 4, 34, red);           // pass these
    DrawLineEx(foot, lean_left, 1.0f, dim);                     // nor the pole these
    DrawLineEx(foot, lean_right, 1.0f, dim);
    DrawRectangle((int)cart - 40, rail - 36, 80, 26, teal);
    DrawCircle((int)cart - 24, rail - 8, 8.0f, RAYWHITE);
    DrawCircle((int)cart + 24, rail - 8, 8.0f, RAYWHITE);
    DrawLineEx(foot, tip, 10.0f, danger ? red : gold);
    DrawCircle((int)foot.x, (int)foot.y, 6.0f, night);
    DrawRectangle(0, height - 6, width * env->tick / env->max_steps, 6, gold);
    DrawText(TextFormat("tick %d of %d", env->tick, env->max_steps), 16, 14, 20, RAYWHITE);
    DrawText(TextFormat("lean %+.1f degrees", env->theta * RAD2DEG), 16, 42, 20, dim);
    DrawText(TextFormat("%.0f ticks on average, %.0f episodes",
             env->log.n > 0.0f ? env->log.score / env->log.n : 0.0f, env->log.n),
             16, height - 40, 20, teal);
    EndDrawing();
}
#endif
