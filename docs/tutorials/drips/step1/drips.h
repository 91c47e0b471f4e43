/* drips.h -- a roof leaks; catch the drops.  One agent, three actions. */
#pragma once

//-- What the agent sees and does -------------------------------------------------
#define COLS 9
#define ROWS 10
#define OBS_SIZE (ROWS * COLS)  // the room, one byte a tile, row by row

#define ACT_SIZES {3}

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
} Drips;

//-- The four functions -----------------------------------------------------------
void c_close(Drips* env) {
    (void)env;                      // nothing was allocated
}

void c_reset(Drips* env) {
    (void)env;
}

void c_step(Drips* env) {
    (void)env;
}

//-- Drawing ----------------------------------------------------------------------
void c_render(Drips* env) {
    (void)env;
}
