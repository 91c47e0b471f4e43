/* drips.h -- a roof leaks; catch the drops.  One agent, three actions. */
#pragma once

#include <string.h>

//-- What the agent sees and does -------------------------------------------------
#define COLS 9
#define ROWS 10
#define OBS_SIZE (ROWS * COLS)  // the room, one byte a tile, row by row

enum { TILE_EMPTY, TILE_DROP, TILE_BUCKET };
enum { ACT_STAY, ACT_LEFT, ACT_RIGHT, ACT_COUNT };
#define ACT_SIZES {ACT_COUNT}

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

    int bucket;                     // its column
} Drips;

// Nobody clears the board between two steps, so all of it is written
static void observe(Drips* env) {
    memset(env->observations, TILE_EMPTY, OBS_SIZE);
    env->observations[(ROWS - 1) * COLS + env->bucket] = TILE_BUCKET;
}

//-- The rules, one function each -------------------------------------------------
static void move(Drips* env) {
    int action = (int)env->actions[0];
    if (action == ACT_LEFT && env->bucket > 0) env->bucket -= 1;
    if (action == ACT_RIGHT && env->bucket < COLS - 1) env->bucket += 1;
}

//-- The four functions -----------------------------------------------------------
void c_close(Drips* env) {
    (void)env;                      // nothing was allocated
}

void c_reset(Drips* env) {
    env->bucket = COLS / 2;
    observe(env);
}

void c_step(Drips* env) {
    move(env);
    observe(env);
}

//-- Drawing ----------------------------------------------------------------------
void c_render(Drips* env) {
    (void)env;
}
