/* hailstorm.h -- run along the ground, pick up coins, and keep out of the hail.  One agent.
 *
 *      |    o        .               |     o   a hailstone: falls, drifts, bounces off the walls
 *      |        o          o         |     ^   the runner; with its umbrella open, (^), stones
 *      |                             |         break on it and do no harm
 *      |______$______^_______________|     $   the coin: lies a while, then turns up elsewhere
 *
 * The runner has momentum. A stone costs a life, and the last life the game; goal_coins coins
 * win it. The umbrella opens for umbrella_ticks and uses up a charge; every few coins give one
 * back. An open umbrella slows the runner down.
 *
 * Units: length in metres, y downward from the sky; time in ticks; speed in metres a tick.
 */
#pragma once

#include <math.h>               // fabsf, fminf, fmaxf
#include <stdbool.h>
#include <stdlib.h>             // calloc, free
#include <string.h>             // memset
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif

enum {                          // observations, one float each
    OBS_X,                      // [ 0, 1]  the runner, share of the width
    OBS_VX,                     // [-1, 1]  its speed, share of the greatest
    OBS_LIVES,                  // [ 0, 1]  lives left, share of those at first
    OBS_CHARGES,                // [ 0, 1]  charges of the umbrella, share of the most
    OBS_UMBRELLA,               // [ 0, 1]  time until it closes, share of umbrella_ticks
    OBS_COIN_DX,                // [-1, 1]  from the runner to the coin, share of the width
    OBS_COIN_TIME,              // [ 0, 1]  time until the coin is elsewhere, share of coin_ticks
    OBS_STONES                  // [-1, 1]  stone by stone the five STONE_ numbers
};
enum {                          // of a stone; all are 0 while it is not in the air
    STONE_THERE,                // 1 if it is in the air
    STONE_DX,                   // from the runner to it, share of the width
    STONE_Y,                    // how far it has come down, share of the height
    STONE_VX,                   // share of the greatest drift
    STONE_VY,                   // share of the fastest fall
    STONE_WIDTH
};
#define OBS_SIZE (OBS_STONES + env->stones * STONE_WIDTH)   // 47 with 8 stones

enum {                          // actions, pick one
    ACT_STAY,                   // roll out
    ACT_LEFT,                   // speed up leftward
    ACT_RIGHT,                  // speed up rightward
    ACT_OPEN,                   // open the umbrella: only with a charge, and while it is closed
    ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT}

#define RUNNER_HALF 2.0f        // half of the runner's width
#define RUNNER_TALL 5.0f
#define STONE_RADIUS 1.0f
#define COIN_HALF 1.0f
#define UMBRELLA_DRAG 0.5f      // share of the greatest speed that is left under the umbrella
#define LONGEST_WAIT 30         // ticks between a stone's landing and its next fall

typedef struct Log {            // sums over finished episodes
    float perf;                 // [0, 1]  share of goal_coins
    float score;                // coins
    float broken;               // stones that broke on the umbrella
    float episode_return;
    float episode_length;
    float n;                    // last
} Log;

typedef struct Stone {
    float x, y, vx, vy;
    int wait;                   // ticks until it falls; 0 in the air
} Stone;

typedef struct Hailstorm {
    Log log;
    float* observations;        // out [OBS_SIZE]
    float* actions;             // in  [1]  an ACT_ value
    float* rewards;             // out [1]
    float* terminals;           // out [1]
    float* truncations;         // out [1]  1 where max_ticks ended it
    float* final_observations;  // out [OBS_SIZE]  what a truncated runner saw last
    unsigned char* action_mask; // out [ACT_COUNT]  1 = legal
    int num_agents;
    unsigned int rng;

    // Settings, from [env]
    float width, height;
    int stones;
    float fall_slow, fall_fast, drift;
    float thrust, max_speed, friction;
    int lives_at_first, max_charges, umbrella_ticks, coins_a_charge, coin_ticks;
    int goal_coins, max_ticks;
    float reward_coin, reward_hit;

    Stone* stone;               // (stones)  from init to c_close

    // Set by c_reset
    float x, vx;
    int lives, charges, umbrella;   // umbrella: ticks until it closes
    float coin_x;
    int coin_time, coins, broken, tick;
    float episode_return;
} Hailstorm;

// Uniform in [low, high)
static inline float uniform(Hailstorm* env, float low, float high) {
    unsigned int s = env->rng;
    env->rng = s * 747796405u + 2891336453u;
    unsigned int word = ((s >> ((s >> 28) + 4u)) ^ s) * 277803737u;
    word ^= word >> 22;
    return low + (high - low) * ((float)(word >> 8) / 16777216.0f);
}

static inline bool can_open(const Hailstorm* env) {
    return env->charges > 0 && env->umbrella == 0;
}

static inline void write_mask(Hailstorm* env) {
    env->action_mask[ACT_STAY] = 1;
    env->action_mask[ACT_LEFT] = 1;
    env->action_mask[ACT_RIGHT] = 1;
    env->action_mask[ACT_OPEN] = can_open(env);
}

// Writes all elements of a row: the observation, or the final one
static inline void observe(const Hailstorm* env, float* row) {
    row[OBS_X] = env->x / env->width;
    row[OBS_VX] = env->vx / env->max_speed;
    row[OBS_LIVES] = (float)env->lives / (float)env->lives_at_first;
    row[OBS_CHARGES] = (float)env->charges / (float)env->max_charges;
    row[OBS_UMBRELLA] = (float)env->umbrella / (float)env->umbrella_ticks;
    row[OBS_COIN_DX] = (env->coin_x - env->x) / env->width;
    row[OBS_COIN_TIME] = (float)env->coin_time / (float)env->coin_ticks;
    for (int i = 0; i < env->stones; i++) {
        const Stone* stone = &env->stone[i];
        float* out = row + OBS_STONES + i * STONE_WIDTH;
        memset(out, 0, STONE_WIDTH * sizeof(float));
        if (stone->wait > 0) continue;
        out[STONE_THERE] = 1.0f;
        out[STONE_DX] = (stone->x - env->x) / env->width;
        out[STONE_Y] = stone->y / env->height;
        out[STONE_VX] = stone->vx / env->drift;
        out[STONE_VY] = stone->vy / env->fall_fast;
    }
}

// To the sky, for up to LONGEST_WAIT ticks
static inline void send_up(Hailstorm* env, Stone* stone) {
    stone->x = uniform(env, 0.0f, env->width);
    stone->y = 0.0f;
    stone->vx = uniform(env, -env->drift, env->drift);
    stone->vy = uniform(env, env->fall_slow, env->fall_fast);
    stone->wait = 1 + (int)uniform(env, 0.0f, (float)LONGEST_WAIT);
}

static inline void place_coin(Hailstorm* env) {
    env->coin_x = uniform(env, COIN_HALF, env->width - COIN_HALF);
    env->coin_time = env->coin_ticks;
}

void init(Hailstorm* env) {
    env->stone = (Stone*)calloc((size_t)env->stones, sizeof(Stone));
}

void c_close(Hailstorm* env) {
    free(env->stone);
    env->stone = NULL;
}

void c_reset(Hailstorm* env) {
    env->x = 0.5f * env->width;
    env->vx = 0.0f;
    env->lives = env->lives_at_first;
    env->charges = env->max_charges;
    env->umbrella = 0;
    env->coins = 0;
    env->broken = 0;
    env->tick = 0;
    env->episode_return = 0.0f;
    for (int i = 0; i < env->stones; i++) send_up(env, &env->stone[i]);
    place_coin(env);
    observe(env, env->observations);
    write_mask(env);
}

static inline void move_runner(Hailstorm* env, int action) {
    env->umbrella -= env->umbrella > 0;
    env->vx *= env->friction;
    if (action == ACT_LEFT) {
        env->vx -= env->thrust;
    } else if (action == ACT_RIGHT) {
        env->vx += env->thrust;
    } else if (action == ACT_OPEN && can_open(env)) {
        env->charges -= 1;
        env->umbrella = env->umbrella_ticks;
    }
    float fastest = env->max_speed * (env->umbrella > 0 ? UMBRELLA_DRAG : 1.0f);
    env->vx = fminf(fmaxf(env->vx, -fastest), fastest);
    env->x += env->vx;
    if (env->x < 0.0f || env->x > env->width) {
        env->x = fminf(fmaxf(env->x, 0.0f), env->width);
        env->vx = 0.0f;
    }
}

static inline void move_stone(Hailstorm* env, Stone* stone) {
    if (stone->wait > 0) {
        stone->wait -= 1;
        return;                 // it falls from the next tick on
    }
    stone->x += stone->vx;
    stone->y += stone->vy;
    if (stone->x < 0.0f || stone->x > env->width) {
        stone->x = fminf(fmaxf(stone->x, 0.0f), env->width);
        stone->vx = -stone->vx;
    }
    bool low = stone->y > env->height - RUNNER_TALL && stone->y < env->height;
    if (low && fabsf(stone->x - env->x) < RUNNER_HALF + STONE_RADIUS) {
        if (env->umbrella > 0) {
            env->broken += 1;
        } else if (env->lives > 0) {    // two may come down at once
            env->lives -= 1;
            env->rewards[0] += env->reward_hit;
        }
        send_up(env, stone);
    } else if (stone->y >= env->height) {
        send_up(env, stone);
    }
}

static inline void move_coin(Hailstorm* env) {
    env->coin_time -= 1;
    if (fabsf(env->coin_x - env->x) < RUNNER_HALF + COIN_HALF) {
        env->rewards[0] += env->reward_coin;
        env->coins += 1;
        if (env->coins % env->coins_a_charge == 0 && env->charges < env->max_charges) {
            env->charges += 1;
        }
        place_coin(env);
    } else if (env->coin_time <= 0) {
        place_coin(env);
    }
}

void c_step(Hailstorm* env) {
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    env->truncations[0] = 0.0f;
    env->tick += 1;
    move_runner(env, (int)env->actions[0]);
    for (int i = 0; i < env->stones; i++) move_stone(env, &env->stone[i]);
    move_coin(env);
    env->episode_return += env->rewards[0];

    bool over = env->lives == 0 || env->coins >= env->goal_coins;
    bool late = !over && env->tick >= env->max_ticks;
    if (!over && !late) {
        observe(env, env->observations);
        write_mask(env);
        return;
    }
    env->terminals[0] = 1.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (late) {
        observe(env, env->final_observations);
    }
    env->log.perf += (float)env->coins / (float)env->goal_coins;
    env->log.score += (float)env->coins;
    env->log.broken += (float)env->broken;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);
}

#ifndef PUFFER_DEVICE
void c_render(Hailstorm* env) {
    const int scale = 8, hud = 30;
    const int floor_y = hud + (int)(env->height * scale);
    if (!IsWindowReady()) {
        InitWindow((int)(env->width * scale), floor_y + 10, "hailstorm");
        SetTargetFPS(30);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    DrawRectangle((int)((env->x - RUNNER_HALF) * scale), floor_y - (int)(RUNNER_TALL * scale),
                  (int)(2 * RUNNER_HALF * scale), (int)(RUNNER_TALL * scale),
                  env->umbrella > 0 ? SKYBLUE : ORANGE);
    DrawRectangle((int)((env->coin_x - COIN_HALF) * scale), floor_y - 2 * scale, 2 * scale,
                  2 * scale, GOLD);
    for (int i = 0; i < env->stones; i++) {
        if (env->stone[i].wait == 0) {
            DrawRectangle((int)((env->stone[i].x - STONE_RADIUS) * scale),
                          hud + (int)(env->stone[i].y * scale), 2 * scale, 2 * scale, RAYWHITE);
        }
    }
    DrawText(TextFormat("coins %d  lives %d  umbrellas %d", env->coins, env->lives,
                        env->charges), 8, 6, 20, RAYWHITE);
    EndDrawing();
}
#endif
