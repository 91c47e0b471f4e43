/* crane.h -- set crates down on the stacks of a yard.  One agent, two continuous actions.
 *
 *      ==============[T]==================     [T]  the trolley, on its rail
 *      |               \                 |       \  the cable: the crate swings on it
 *      |                \                |      [c] the crate
 *      |                [c]              |
 *      |           #             #       |       #  crates that stand already
 *      |           #    #        #    #  |       v  the column that is asked for
 *      |           #    #    v   #    #  |
 *      +---------------------------------+
 *
 * A crate hangs on the hook. The agent drives the trolley and the hoist, and sets the crate
 * down, slowly and whole, on the column that is asked for; then the next crate hangs below
 * the trolley, wherever that is. Touching anything else, or the right column too fast, breaks
 * the crate and ends the episode; so does a cable that swings too far. After `orders` crates
 * the ship is unloaded and the episode is won. Gusts of wind push the crate about.
 * A column that would grow above `max_stack` is fetched by a train, and is empty again.
 *
 * Units: metres, seconds, radians; x to the right from the left leg, heights from the ground.
 * A tick is TICK seconds, in which the physics takes SUBSTEPS steps.
 */
#pragma once

#include <math.h>               // sinf, cosf, fabsf, fminf, fmaxf
#include <stdbool.h>
#include <stdint.h>
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what the agent sees and does --------------------------------------
#define COLUMNS 5

enum {                          // observations, one float each
    OBS_TROLLEY_X,              // [ 0, 1]  share of the span
    OBS_TROLLEY_V,              // [-1, 1]  share of trolley_speed
    OBS_CABLE,                  // [ 0, 1]  its length, share of the rail's height
    OBS_HOIST_V,                // [-1, 1]  share of hoist_speed; positive lowers the crate
    OBS_SWAY,                   // [-1, 1]  the cable's angle, share of MAX_SWAY; positive: right
    OBS_SWAY_V,                 // [-1, 1]  its rate, share of FAST_SWAY, clamped
    OBS_LOAD_X,                 // [ 0, 1]  the crate's middle, share of the span
    OBS_LOAD_Y,                 // [ 0, 1]  the crate's bottom, share of the rail's height
    OBS_TARGET_DX,              // [-1, 1]  from the crate to the column asked for
    OBS_TARGET_DY,              // [-1, 1]  from the crate's bottom to that column's top
    OBS_WIND,                   // [-1, 1]  share of the strongest; positive pushes to the right
    OBS_LEFT,                   // [ 0, 1]  crates still to be set down, share of orders
    OBS_STACKS,                 // [ 0, 1]  of each column its crates, share of max_stack
    OBS_TARGET = OBS_STACKS + COLUMNS,  // [0, 1]  1 for the column asked for, else 0
    OBS_COUNT = OBS_TARGET + COLUMNS
};
#define OBS_SIZE OBS_COUNT

enum {                          // actions, both in [-1, 1]; what is beyond is clamped
    ACT_DRIVE,                  // the trolley's acceleration, share of trolley_accel
    ACT_HOIST,                  // the speed that the hoist strives for, share of hoist_speed
    ACT_COUNT
};
#define ACT_SIZES {1, 1}

#define TICK         0.2f
#define SUBSTEPS     10
#define STEP         (TICK / SUBSTEPS)
#define GRAVITY      9.81f
#define DAMPING      0.30f      // of the sway, 1 / s
#define CRATE        2.4f       // its width and its height
#define MARGIN       3.0f       // the ground between a leg and the next column
#define BUFFER       2.0f       // the trolley stops so far from the legs
#define CABLE_MIN    2.0f
#define HOIST_ACCEL  4.0f
#define MAX_SWAY     1.2f       // beyond it the cable jumps off
#define FAST_SWAY    3.0f
#define SOFT         1.2f       // m/s down and m/s aside at which a crate can be set down
#define GUST_TICKS   20         // between two gusts, on average

//-- State: one crane -------------------------------------------------------------
typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  share of the orders that were set down
    float score;                // crates set down
    float episode_return;       // what the trainer maximises
    float episode_length;       // ticks
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct Crane {
    // Shared with the trainer, which owns the arrays: fill them, never free them
    Log log;
    float* observations;        // out [OBS_SIZE]
    float* final_observations;  // out [OBS_SIZE]  what was seen last, when time ran out
    float* actions;             // in  [ACT_COUNT]
    float* rewards;             // out [1]
    float* terminals;           // out [1]  1 on the step that ended an episode, else 0
    float* truncations;         // out [1]  1 where max_ticks did, not the game; else 0
    int num_agents;             // rows of those arrays that are ours; set before init
    unsigned int rng;           // this copy's seed, then its generator state

    // Settings, from [env] in crane.ini: matched by name, set before init
    float span, height;         // of the rail
    float trolley_speed, trolley_accel, hoist_speed;
    float wind_force;           // m/s2 that the strongest gust gives the crate
    int max_stack, orders;      // crates on a column, and crates that make an episode
    int max_ticks;              // then it is cut off
    float reward_crate, reward_crash, reward_progress;  // the last: per metre nearer to a column

    // Private to this file. c_reset sets all of it: what it forgot would carry one episode
    // into the next
    float x, v;                 // the trolley
    float cable, hoist_v, sway, sway_v;
    float wind, gust;           // [-1, 1]  the wind follows the gust
    int stacks[COLUMNS];        // [0, max_stack]
    int target, delivered;      // a column, and crates
    int tick;                   // steps of this episode
    float episode_return;
} Crane;

static inline unsigned int random_bits(unsigned int* rng) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    return bits ^ (bits >> 15);
}

static inline int random_below(unsigned int* rng, int count) {
    return (int)(((uint64_t)random_bits(rng) * (uint64_t)count) >> 32);
}

static inline float random_between(unsigned int* rng, float low, float high) {
    return low + (high - low) * ((float)(random_bits(rng) >> 8) / 16777216.0f);
}

static inline float clamp(float value, float low, float high) {
    return fminf(fmaxf(value, low), high);
}

static inline float column_width(const Crane* env) {
    return (env->span - 2.0f * MARGIN) / (float)COLUMNS;
}

static inline float column_middle(const Crane* env, int column) {
    return MARGIN + ((float)column + 0.5f) * column_width(env);
}

static inline float column_top(const Crane* env, int column) {
    return CRATE * (float)env->stacks[column];
}

static inline float load_x(const Crane* env) {
    return env->x + env->cable * sinf(env->sway);
}

static inline float load_bottom(const Crane* env) {
    return env->height - env->cable * cosf(env->sway) - CRATE;
}

// The highest thing below the crate, both of whose edges count
static inline float floor_below(const Crane* env) {
    const float width = column_width(env);
    float left = load_x(env) - 0.5f * CRATE, right = left + CRATE, top = 0.0f;
    for (int column = 0; column < COLUMNS; column++) {
        float begin = MARGIN + (float)column * width;
        if (right > begin && left < begin + width) top = fmaxf(top, column_top(env, column));
    }
    return top;
}

// Metres that the crate has to go, across and down
static inline float distance_left(const Crane* env) {
    return fabsf(column_middle(env, env->target) - load_x(env))
         + fabsf(load_bottom(env) - column_top(env, env->target));
}

//-- What the agent sees: every element, each time ------------------------------------
static inline void observe(const Crane* env, float* obs) {
    float x = load_x(env), bottom = load_bottom(env);
    obs[OBS_TROLLEY_X] = env->x / env->span;
    obs[OBS_TROLLEY_V] = env->v / env->trolley_speed;
    obs[OBS_CABLE] = env->cable / env->height;
    obs[OBS_HOIST_V] = env->hoist_v / env->hoist_speed;
    obs[OBS_SWAY] = env->sway / MAX_SWAY;
    obs[OBS_SWAY_V] = clamp(env->sway_v / FAST_SWAY, -1.0f, 1.0f);
    obs[OBS_LOAD_X] = x / env->span;
    obs[OBS_LOAD_Y] = bottom / env->height;
    obs[OBS_TARGET_DX] = (column_middle(env, env->target) - x) / env->span;
    obs[OBS_TARGET_DY] = (column_top(env, env->target) - bottom) / env->height;
    obs[OBS_WIND] = env->wind;
    obs[OBS_LEFT] = (float)(env->orders - env->delivered) / (float)env->orders;
    for (int column = 0; column < COLUMNS; column++) {
        obs[OBS_STACKS + column] = (float)env->stacks[column] / (float)env->max_stack;
        obs[OBS_TARGET + column] = column == env->target ? 1.0f : 0.0f;
    }
}

// A crate hangs below the trolley, at rest
static inline void next_crate(Crane* env) {
    env->cable = CABLE_MIN;
    env->v = env->hoist_v = env->sway = env->sway_v = 0.0f;
}

static inline void blow(Crane* env) {
    bool turns = random_below(&env->rng, GUST_TICKS) == 0;
    if (turns) env->gust = random_between(&env->rng, -1.0f, 1.0f);
    env->wind += 0.1f * (env->gust - env->wind);
}

// STEP seconds of trolley, hoist and pendulum. At the buffers the trolley stops dead, and
// the crate swings on: that is why the acceleration is computed from what the speed became
static inline void swing(Crane* env, float drive, float hoist) {
    float before = env->v;
    env->v = clamp(env->v + drive * env->trolley_accel * STEP, -env->trolley_speed,
                   env->trolley_speed);
    env->x += env->v * STEP;
    if (env->x < BUFFER || env->x > env->span - BUFFER) {
        env->x = clamp(env->x, BUFFER, env->span - BUFFER);
        env->v = 0.0f;
    }
    float accel = (env->v - before) / STEP;
    float wanted = hoist * env->hoist_speed;
    env->hoist_v += clamp(wanted - env->hoist_v, -HOIST_ACCEL * STEP, HOIST_ACCEL * STEP);
    env->cable += env->hoist_v * STEP;
    if (env->cable < CABLE_MIN || env->cable > env->height) {
        env->cable = clamp(env->cable, CABLE_MIN, env->height);
        env->hoist_v = 0.0f;
    }

    float push = (env->wind * env->wind_force - accel) * cosf(env->sway);
    float pull = GRAVITY * sinf(env->sway) + 2.0f * env->hoist_v * env->sway_v;
    env->sway_v += ((push - pull) / env->cable - DAMPING * env->sway_v) * STEP;
    env->sway += env->sway_v * STEP;
}

// Whether the crate hangs where it must not
static inline bool is_lost(const Crane* env) {
    float x = load_x(env);
    return fabsf(env->sway) > MAX_SWAY || x < 0.5f * CRATE || x > env->span - 0.5f * CRATE;
}

// Whether a crate that touches is on the column asked for, whole, and slow in both directions
static inline bool is_soft(const Crane* env) {
    float room = 0.5f * (column_width(env) - CRATE);
    float down = env->hoist_v * cosf(env->sway) - env->cable * env->sway_v * sinf(env->sway);
    float aside = env->v + env->hoist_v * sinf(env->sway)
                + env->cable * env->sway_v * cosf(env->sway);
    return fabsf(load_x(env) - column_middle(env, env->target)) <= room && down <= SOFT
        && fabsf(aside) <= SOFT;
}

// The crate stays where it is, and another column asks for one
static inline void set_down(Crane* env) {
    env->delivered += 1;
    env->stacks[env->target] += 1;
    if (env->stacks[env->target] > env->max_stack) env->stacks[env->target] = 0;    // the train
    env->target = (env->target + 1 + random_below(&env->rng, COLUMNS - 1)) % COLUMNS;
    next_crate(env);
}

//-- Functions: init, c_close, then the two that matter ----------------------------------
void init(Crane* env) {         // both are divided by
    if (env->max_stack < 1) env->max_stack = 1;
    if (env->orders < 1) env->orders = 1;
}

void c_close(Crane* env) {
    (void)env;                  // nothing was allocated
}

// Begin an episode. Leaves rewards and terminals alone: when c_step calls this, they still
// describe the step that just ended
void c_reset(Crane* env) {
    for (int column = 0; column < COLUMNS; column++) {
        env->stacks[column] = random_below(&env->rng, env->max_stack + 1);
    }
    env->target = random_below(&env->rng, COLUMNS);
    env->gust = random_between(&env->rng, -1.0f, 1.0f);
    env->wind = env->gust;
    env->delivered = env->tick = 0;
    env->episode_return = 0.0f;
    env->x = random_between(&env->rng, BUFFER, env->span - BUFFER);
    next_crate(env);
    observe(env, env->observations);
}

void c_step(Crane* env) {
    const float drive = clamp(env->actions[ACT_DRIVE], -1.0f, 1.0f);
    const float hoist = clamp(env->actions[ACT_HOIST], -1.0f, 1.0f);
    const float before = distance_left(env);
    bool touched = false, lost = false;
    blow(env);
    for (int step = 0; step < SUBSTEPS && !touched && !lost; step++) {
        swing(env, drive, hoist);
        lost = is_lost(env);
        touched = load_bottom(env) <= floor_below(env);
    }
    bool soft = touched && !lost && is_soft(env), crashed = lost || (touched && !soft);
    float reward = env->reward_progress * (before - distance_left(env));
    reward += soft ? env->reward_crate : crashed ? env->reward_crash : 0.0f;
    if (soft) set_down(env);
    env->tick += 1;
    env->episode_return += reward;

    // The clock cannot be seen and is no part of the game: a truncation
    bool over = crashed || env->delivered >= env->orders;
    bool late = !over && env->tick >= env->max_ticks;
    env->rewards[0] = reward;
    env->terminals[0] = over || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (!over && !late) {
        observe(env, env->observations);
        return;
    }
    if (late) observe(env, env->final_observations);
    env->log.perf += (float)env->delivered / (float)env->orders;
    env->log.score += (float)env->delivered;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);               // the next observation opens the next episode
}

//-- Drawing: reads the state and never changes it, so a recording is true ------------
#ifndef PUFFER_DEVICE
void c_render(Crane* env) {
    const Color night = {16, 24, 32, 255}, steel = {90, 110, 125, 255}, gold = {255, 190, 60, 255};
    const float scale = 24.0f;
    const int top = 60, side = (int)(CRATE * scale);
    const int width = (int)(env->span * scale), ground = top + (int)(env->height * scale);
    if (!IsWindowReady()) {
        InitWindow(width, ground + 20, "crane");
        SetTargetFPS(5);
    }
    BeginDrawing();
    ClearBackground(night);
    DrawRectangle(0, ground, width, 20, steel);
    DrawRectangle(0, top - 6, width, 6, steel);
    for (int column = 0; column < COLUMNS; column++) {
        int left = (int)(column_middle(env, column) * scale) - side / 2;
        for (int crate = 1; crate <= env->stacks[column]; crate++) {
            DrawRectangle(left, ground - crate * side, side - 1, side - 1, BROWN);
        }
        if (column == env->target) DrawRectangle(left, ground + 4, side, 10, gold);
    }
    int x = (int)(env->x * scale), load = (int)(load_x(env) * scale);
    int bottom = ground - (int)(load_bottom(env) * scale);
    DrawRectangle(x - 16, top - 14, 32, 14, SKYBLUE);
    DrawLine(x, top, load, bottom - side, RAYWHITE);
    DrawRectangle(load - side / 2, bottom - side, side, side, gold);
    DrawText(TextFormat("crate %d of %d, tick %d, wind %+.1f", env->delivered + 1, env->orders,
                        env->tick, (double)env->wind), 12, 10, 20, RAYWHITE);
    EndDrawing();
}
#endif
