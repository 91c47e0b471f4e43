/* {{ cookiecutter.name }}.h -- walk to a target on a square grid.  One agent, five actions.
 *
 *        0 1 2 3 4   column
 *      0 . . . . .             A   the agent, in the centre when an episode begins
 *      1 . . . . T             T   the target, on any other tile: +1
 *      2 . . A . .             over the edge, or too slow: -1
 *      3 . . . . .
 *    row                       drawn at SIDE 5
 *
 * A small game that can be won, lost or timed out: change it from here. It has the form of
 * PufferLib 5.0: this header and {{ cookiecutter.name }}.ini are all of it, here and there.
 *
 * Read top to bottom: what the agent sees and does, the rules, the state, then puf_reset
 * and puf_step. Whatever you change, `puffer-sdk check` tells you what it broke.
 *
 * Units: length in tiles, time in ticks. Rows count downward, as bytes and pixels do.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>             // uint64_t
#include <string.h>             // memset
#include "raylib.h"
typedef unsigned char obs_t;    // what observations are made of; the next line needs it
#include "pufferenv.h"          // Agent, Dict; puffer-sdk has one, and PufferLib its own

//-- Interface: what the agent sees and does --------------------------------------
#define SIDE     11                         // tiles along one side of the board
#define OBS_SIZE (SIDE * SIDE)              // grid SIDE x SIDE of 3 ids: the board.
                                            // A constant: PufferLib compiles it in
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
#define NUM_ATNS 1              // actions that an agent takes in a step
#define ACT_SIZES {ACT_COUNT}   // the choices of each

//-- Rules ------------------------------------------------------------------------
// Measured at SIDE 11: acting at random wins 1 episode in 9, staying put wins 0, and
// walking straight to the target wins all, in 5.5 ticks on average
// (measured again by tests/test_{{ cookiecutter.name }}.py, which fails if they are wrong)
#define WIN          1.0f       // the target; wins and losses of size 1 suit every trainer
#define LOSS        -1.0f       // the edge, or the clock

//-- State: one copy of the game --------------------------------------------------
struct Log {                    // floats: sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  share of episodes won: the headline number
    float score;                // [-1, 1] here the same as the return
    float episode_return;       // what the trainer maximises
    float episode_length;       // ticks
    float n;                    // episodes summed here; must stay the last field
};

struct Env {
    // Shared with the trainer, which owns what agents point at: fill it, never free it
    Log log;
    Agent agents[1];            // ->observations  out [OBS_SIZE]  a TILE_ value each
                                // ->actions       in  [1]  an ACT_ value, stored as a float
                                // ->rewards       out [1]
                                // ->terminals     out [1]  1 on the step that ended an episode
    int num_agents;             // how many of them play; puf_init sets it
    int tag;                    // of PufferLib's trainer
    int boundary_reached;       // the same
    unsigned int rng;           // this copy's seed, then its generator state

    // Settings, from [env] in {{ cookiecutter.name }}.ini: puf_init copies them
    int patience;               // ticks per tile of a side; the farthest corner takes one

    // Private to this file. Settings aside, puf_reset sets all of it: a field that it
    // forgets would carry one episode into the next
    int row, col;               // the agent, [0, SIDE) while the episode lasts
    int target_row, target_col;
    int tick;                   // steps of this episode
};

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

static inline bool on_board(const Env* env) {
    return env->row >= 0 && env->row < SIDE && env->col >= 0 && env->col < SIDE;
}

// Nobody clears the board between steps, so what is not written here keeps its old value.
// Writing all of it costs little and leaves nothing behind. puffer-sdk also calls this to keep
// what an ended episode saw last: an agent over the edge is on no tile
static inline void observe(Env* env) {
    obs_t* board = env->agents[0].observations;
    memset(board, TILE_EMPTY, OBS_SIZE);
    board[env->target_row * SIDE + env->target_col] = TILE_TARGET;
    if (on_board(env)) board[env->row * SIDE + env->col] = TILE_AGENT;
}

//-- Functions: puf_init, puf_close, puf_log, then the two that matter ------------
// Runs once, with the keys of [env]. The agents' arrays are not bound yet
void puf_init(Env* env, Dict* kwargs) {
    env->patience = (int)dict_get(kwargs, "patience");
    env->num_agents = 1;
    env->agents[0].policy = 0;              // the policy that learns
    env->agents[0].action_mask = NULL;      // every action is always legal
}

// Runs last. Free what this file allocated: nothing. What agents point at is not ours to free
void puf_close(Env* env) {
    (void)env;
    if (IsWindowReady()) CloseWindow();     // of puf_render
}

// The means to report, by name; `n` is divided by already
void puf_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}

// Begin an episode. Leaves rewards and terminals alone: when puf_step calls this, they
// still describe the step that just ended
void puf_reset(Env* env) {
    env->row = SIDE / 2;
    env->col = SIDE / 2;
    env->tick = 0;

    // One draw over the tiles other than the centre: so many steps on from it, wrapping around
    // the end of the board. Redrawing until it fits would also work, but takes no fixed time
    int centre = env->row * SIDE + env->col;
    int tile = (centre + 1 + random_below(&env->rng, OBS_SIZE - 1)) % OBS_SIZE;
    env->target_row = tile / SIDE;
    env->target_col = tile % SIDE;
    observe(env);
}

// The agent's action, from the keyboard: `play` and the programs of `build` call this while
// LEFT SHIFT is held
static inline void c_keys(Env* env) {
    int action = ACT_STAY;
    if (IsKeyDown(KEY_DOWN)  || IsKeyDown(KEY_S)) action = ACT_DOWN;
    if (IsKeyDown(KEY_UP)    || IsKeyDown(KEY_W)) action = ACT_UP;
    if (IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A)) action = ACT_LEFT;
    if (IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D)) action = ACT_RIGHT;
    env->agents[0].actions[0] = (float)action;
}

// Advance one tick, always in this order: act, score, end or go on
void puf_step(Env* env) {
#ifdef PUFFERCPU_EVAL_MAIN      // PufferLib's player, which leaves the keys to its environments
    if (IsKeyDown(KEY_LEFT_SHIFT)) c_keys(env);
#endif
    Agent* agent = &env->agents[0];
    switch ((int)agent->actions[0]) {
        case ACT_DOWN:  env->row += 1; break;
        case ACT_UP:    env->row -= 1; break;
        case ACT_LEFT:  env->col -= 1; break;
        case ACT_RIGHT: env->col += 1; break;
        default: break;         // ACT_STAY
    }
    env->tick += 1;

    bool outside = !on_board(env);
    bool late = env->tick > env->patience * SIDE;
    bool won = env->row == env->target_row && env->col == env->target_col && !late;
    bool done = outside || late || won;
    float reward = won ? WIN : done ? LOSS : 0.0f;

    // Write both on every step: the arrays may hold anything
    agent->rewards[0] = reward;
    agent->terminals[0] = done ? 1.0f : 0.0f;
    if (!done) {
        observe(env);
        return;
    }

    env->log.perf += won ? 1.0f : 0.0f;
    env->log.score += reward;
    env->log.episode_return += reward;      // every reward but the last one was 0
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    puf_reset(env);             // the next observation opens the next episode
}

//-- Drawing: reads the state and never changes it, so a recording is true --------
#define PUF_STEPS_PER_SEC 8     // the speed of play: slow enough to steer by hand

void puf_render(Env* env) {
    const Color night = {16, 24, 32, 255}, floor_tile = {30, 44, 56, 255};
    const Color gold = {255, 190, 60, 255}, teal = {0, 205, 190, 255};
    const int hud = 44, tile = SIDE < 80 ? 640 / SIDE : 8, gap = tile / 16 + 1;
    const int side = tile * SIDE;
    if (!IsWindowReady()) {
        InitWindow(side, side + hud, "{{ cookiecutter.name }}");
        SetTargetFPS(60);
    }

    BeginDrawing();
    ClearBackground(night);
    for (int row = 0; row < SIDE; row++) {
        for (int col = 0; col < SIDE; col++) {
            bool agent = row == env->row && col == env->col;
            bool target = row == env->target_row && col == env->target_col;
            DrawRectangle(col * tile + gap, hud + row * tile + gap, tile - 2 * gap,
                          tile - 2 * gap, agent ? teal : target ? gold : floor_tile);
        }
    }
    int limit = env->patience * SIDE;       // the clock, as a bar that runs dry
    DrawRectangle(0, hud - 4, side * (limit - env->tick) / limit, 4, gold);
    DrawText(TextFormat("tick %d of %d", env->tick, limit), 12, 10, 20, RAYWHITE);
    DrawText(TextFormat("won %.0f of %.0f", env->log.perf, env->log.n), side - 160, 10, 20, teal);
    EndDrawing();
    puf_web_vsync();            // in a web page of PufferLib: waits for the screen
}
