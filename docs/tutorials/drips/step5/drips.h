/* drips.h -- a roof leaks; catch the drops.  One agent, three actions.
 *
 *        0 1 2 3 4 5 6 7 8   column
 *      0 . . . . . . o . .   o   a drop: one row down each tick
 *      1 . . . . . . . . .
 *        ...
 *      9 . . . U . . . . .   U   the bucket: one column a tick
 *     row
 *
 * A drop in the bucket pays +1, a drop on the floor -1. The third one on the floor ends the
 * episode, and so does the last drop of the storm.
 */
#pragma once

#include <stdint.h>
#include <string.h>

//-- What the agent sees and does -------------------------------------------------
#define COLS 9
#define ROWS 10
#define OBS_SIZE (ROWS * COLS)  // the room, one byte a tile, row by row

enum { TILE_EMPTY, TILE_DROP, TILE_BUCKET };
enum { ACT_STAY, ACT_LEFT, ACT_RIGHT, ACT_COUNT };
#define ACT_SIZES {ACT_COUNT}

//-- Rules ------------------------------------------------------------------------
#define EVERY  4                // ticks between two drops
#define WANDER 4                // columns between two drops, at most: never out of reach
#define SPILLS 3                // drops on the floor that end the episode
#define FALLING (ROWS / EVERY + 1)      // drops in the air at once, at most

//-- State ------------------------------------------------------------------------
typedef struct Log {            // sums over finished episodes
    float perf;                 // [0, 1]  share of the storm that was caught
    float score;                // drops caught
    float episode_return;
    float episode_length;
    float n;                    // episodes summed here; stays last
} Log;

typedef struct Drips {
    Log log;                        // shared with the trainer, which owns the arrays
    unsigned char* observations;    // out [OBS_SIZE]
    float* actions;                 // in  [1]
    float* rewards;                 // out [1]
    float* terminals;               // out [1]
    int num_agents;
    unsigned int rng;               // this copy's seed, then its generator

    int storm;                      // drops of an episode, from [env] in drips.ini

    int bucket;                     // its column
    int drop_row[FALLING], drop_col[FALLING];   // a row of -1: this place is free
    int crack;                      // the column of the newest drop
    int tick, fallen, caught, spilt;
    float paid;                     // rewards of this episode
} Drips;

// Uniform in [0, count), from this copy's own generator: rand() is shared by all copies
static inline int random_below(unsigned int* rng, int count) {
    *rng = *rng * 1664525u + 1013904223u;
    return (int)(((uint64_t)*rng * (uint64_t)count) >> 32);
}

// Nobody clears the board between two steps, so all of it is written
static void observe(Drips* env) {
    memset(env->observations, TILE_EMPTY, OBS_SIZE);
    for (int i = 0; i < FALLING; i++) {
        if (env->drop_row[i] >= 0) {
            env->observations[env->drop_row[i] * COLS + env->drop_col[i]] = TILE_DROP;
        }
    }
    env->observations[(ROWS - 1) * COLS + env->bucket] = TILE_BUCKET;
}

//-- The rules, one function each -------------------------------------------------
static void move(Drips* env) {
    int action = (int)env->actions[0];
    if (action == ACT_LEFT && env->bucket > 0) env->bucket -= 1;
    if (action == ACT_RIGHT && env->bucket < COLS - 1) env->bucket += 1;
}

// All drops fall one row. Returns what that pays: +1 in the bucket, -1 on the floor
static float fall(Drips* env) {
    float reward = 0.0f;
    for (int i = 0; i < FALLING; i++) {
        if (env->drop_row[i] < 0) continue;
        env->drop_row[i] += 1;
        if (env->drop_row[i] < ROWS - 1) continue;
        int hit = env->drop_col[i] == env->bucket;
        env->caught += hit;
        env->spilt += !hit;
        reward += hit ? 1.0f : -1.0f;
        env->drop_row[i] = -1;
    }
    return reward;
}

// Every EVERY ticks the crack wanders and lets a drop go, until the storm is over
static void drip(Drips* env) {
    if (env->tick % EVERY != 0 || env->fallen == env->storm) return;
    env->crack += random_below(&env->rng, 2 * WANDER + 1) - WANDER;
    if (env->crack < 0) env->crack = 0;
    if (env->crack > COLS - 1) env->crack = COLS - 1;
    for (int i = 0; i < FALLING; i++) {
        if (env->drop_row[i] >= 0) continue;
        env->drop_row[i] = 0;
        env->drop_col[i] = env->crack;
        env->fallen += 1;
        return;
    }
}

//-- The four functions -----------------------------------------------------------
void c_close(Drips* env) {
    (void)env;                      // nothing was allocated
}

void c_reset(Drips* env) {
    env->bucket = COLS / 2;
    env->crack = random_below(&env->rng, COLS);
    env->tick = env->fallen = env->caught = env->spilt = 0;
    env->paid = 0.0f;
    for (int i = 0; i < FALLING; i++) {
        env->drop_row[i] = -1;
        env->drop_col[i] = 0;
    }
    drip(env);
    observe(env);
}

void c_step(Drips* env) {
    move(env);
    float reward = fall(env);
    env->tick += 1;
    drip(env);

    env->paid += reward;
    int done = env->spilt == SPILLS || env->caught + env->spilt == env->storm;
    env->rewards[0] = reward;       // both on every step: the arrays may hold anything
    env->terminals[0] = done ? 1.0f : 0.0f;
    if (done) {
        env->log.perf += (float)env->caught / (float)env->storm;
        env->log.score += (float)env->caught;
        env->log.episode_return += env->paid;
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        c_reset(env);               // writes the first observation of the next episode
        return;
    }
    observe(env);
}

//-- Drawing ----------------------------------------------------------------------
void c_render(Drips* env) {
    (void)env;
}
