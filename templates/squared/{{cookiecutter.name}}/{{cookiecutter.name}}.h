/* {{ cookiecutter.name }}.h -- walk to a target on a square grid.  One agent, five actions.
 *
 *        0 1 2 3 4   column
 *      0 . . . . .             A   the agent, in the centre when an episode begins
 *      1 . . . . T             T   the target, on any other tile: +1
 *      2 . . A . .             over the edge, or too slow: -1
 *      3 . . . . .
 *    row                       drawn at size 5; the setting is in {{ cookiecutter.name }}.ini
 *
 * A small game that can be won, lost or timed out: change it from here.
 *
 * Read top to bottom: what the agent sees and does, the rules, the state, then c_reset
 * and c_step. Whatever you change, `puffer-sdk check` tells you what it broke.
 *
 * Units: length in tiles, time in ticks. Rows count downward, as bytes and pixels do.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>             // uint64_t
#include <string.h>             // memset
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what the agent sees and does --------------------------------------
#define OBS_SIZE (env->size * env->size)    // grid env->size x env->size of 3 ids: the board.
                                            // An expression: it follows the setting by itself
enum {                          // what a byte of the board means
    TILE_EMPTY,
    TILE_AGENT,
    TILE_TARGET,
};

enum {                          // actions, pick one
    ACT_STAY,
    ACT_DOWN,
    ACT_UP,
    ACT_LEFT,
    ACT_RIGHT,
    ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT}

//-- Rules ------------------------------------------------------------------------
// Measured at size 11: acting at random wins 1 episode in 9, staying put wins 0, and
// walking straight to the target wins all, in 5.5 ticks on average
// (measured again by tests/test_{{ cookiecutter.name }}.py, which fails if they are wrong)
#define WIN          1.0f       // the target; wins and losses of size 1 suit every trainer
#define LOSS        -1.0f       // the edge, or the clock
#define PATIENCE     3          // ticks per tile of a side; the farthest corner takes one

//-- State: one copy of the game --------------------------------------------------
typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  share of episodes won: the headline number
    float score;                // [-1, 1] here the same as the return
    float episode_return;       // what the trainer maximises
    float episode_length;       // ticks
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct {{ cookiecutter.__struct }} {
    // Shared with the trainer, which owns the arrays: fill them, never free them
    Log log;
    unsigned char* observations;    // out [OBS_SIZE]  a TILE_ value each
    float* actions;                 // in  [1]  an ACT_ value, stored as a float
    float* rewards;                 // out [1]
    float* terminals;               // out [1]  1 on the step that ended an episode, else 0
    int num_agents;                 // rows of those arrays that are ours; set before init
    unsigned int rng;               // this copy's seed, then its generator state

    // Settings, from [env] in {{ cookiecutter.name }}.ini: matched by name, set before init
    int size;                       // tiles along one side

    // Private to this file. Settings aside, c_reset sets all of it: a field that it
    // forgets would carry one episode into the next
    int row, col;                   // the agent, [0, size) while the episode lasts
    int target_row, target_col;
    int tick;                       // steps of this episode
} {{ cookiecutter.__struct }};

// Uniform in [0, count). The state lives in the env, not in rand(), so that an episode
// depends only on its seed and copies can step on any thread. Seed 0 is as good as any:
// the counter walks through all 2^32 states, the mixing makes neighbours look unrelated
static inline int random_below(unsigned int* rng, int count) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (int)(((uint64_t)bits * (uint64_t)count) >> 32);
}

static inline bool on_board(const {{ cookiecutter.__struct }}* env) {
    return env->row >= 0 && env->row < env->size && env->col >= 0 && env->col < env->size;
}

// Nobody clears the board between steps, so what is not written here keeps its old value.
// Writing all of it costs little and leaves nothing behind. puffer-sdk also calls this to keep
// what an ended episode saw last: an agent over the edge is on no tile
static inline void observe({{ cookiecutter.__struct }}* env) {
    memset(env->observations, TILE_EMPTY, (size_t)OBS_SIZE);
    env->observations[env->target_row * env->size + env->target_col] = TILE_TARGET;
    if (on_board(env)) env->observations[env->row * env->size + env->col] = TILE_AGENT;
}

//-- Functions: init, c_close, then the two that matter ---------------------------
// Runs once, when the settings are known: the place to allocate. This game needs nothing
void init({{ cookiecutter.__struct }}* env) {
    (void)env;
}

// Runs last. Free what this file allocated: nothing. The trainer's arrays are not ours to free
void c_close({{ cookiecutter.__struct }}* env) {
    (void)env;
}

// Begin an episode. Leaves rewards and terminals alone: when c_step calls this, they
// still describe the step that just ended
void c_reset({{ cookiecutter.__struct }}* env) {
    env->row = env->size / 2;
    env->col = env->size / 2;
    env->tick = 0;

    // One draw over the tiles other than the centre: so many steps on from it, wrapping around
    // the end of the board. Redrawing until it fits would also work, but takes no fixed time
    int centre = env->row * env->size + env->col;
    int tile = (centre + 1 + random_below(&env->rng, OBS_SIZE - 1)) % OBS_SIZE;
    env->target_row = tile / env->size;
    env->target_col = tile % env->size;
    observe(env);
}

// Advance one tick, always in this order: act, score, end or go on
void c_step({{ cookiecutter.__struct }}* env) {
    switch ((int)env->actions[0]) {
        case ACT_DOWN:  env->row += 1; break;
        case ACT_UP:    env->row -= 1; break;
        case ACT_LEFT:  env->col -= 1; break;
        case ACT_RIGHT: env->col += 1; break;
        default: break;         // ACT_STAY
    }
    env->tick += 1;

    bool outside = !on_board(env);
    bool late = env->tick > PATIENCE * env->size;
    bool won = env->row == env->target_row && env->col == env->target_col && !late;
    bool done = outside || late || won;
    float reward = won ? WIN : done ? LOSS : 0.0f;

    // Write both on every step: the arrays may hold anything. Being late is a terminal and
    // not a truncation, because the game itself ends it, with a penalty. A truncation
    // says that only a time limit ended it, and the trainer would add the value of what follows
    env->rewards[0] = reward;
    env->terminals[0] = done ? 1.0f : 0.0f;
    if (!done) {
        observe(env);
        return;
    }

    env->log.perf += won ? 1.0f : 0.0f;
    env->log.score += reward;
    env->log.episode_return += reward;      // every reward but the last one was 0
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);               // the next observation opens the next episode
}

//-- Drawing: reads the state and never changes it, so a recording is true --------
#ifndef PUFFER_DEVICE
void c_render({{ cookiecutter.__struct }}* env) {
    const Color night = {16, 24, 32, 255}, floor_tile = {30, 44, 56, 255};
    const Color gold = {255, 190, 60, 255}, teal = {0, 205, 190, 255};
    const int hud = 44, tile = env->size < 80 ? 640 / env->size : 8, gap = tile / 16 + 1;
    const int side = tile * env->size;
    if (!IsWindowReady()) {
        InitWindow(side, side + hud, "{{ cookiecutter.name }}");
        SetTargetFPS(8);        // slow enough to steer by hand
    }

    BeginDrawing();
    ClearBackground(night);
    for (int row = 0; row < env->size; row++) {
        for (int col = 0; col < env->size; col++) {
            bool agent = row == env->row && col == env->col;
            bool target = row == env->target_row && col == env->target_col;
            DrawRectangle(col * tile + gap, hud + row * tile + gap, tile - 2 * gap,
                          tile - 2 * gap, agent ? teal : target ? gold : floor_tile);
        }
    }
    int limit = PATIENCE * env->size;       // the clock, as a bar that runs dry
    DrawRectangle(0, hud - 4, side * (limit - env->tick) / limit, 4, gold);
    DrawText(TextFormat("tick %d of %d", env->tick, limit), 12, 10, 20, RAYWHITE);
    DrawText(TextFormat("won %.0f of %.0f", env->log.perf, env->log.n), side - 160, 10, 20, teal);
    EndDrawing();
}
#endif
