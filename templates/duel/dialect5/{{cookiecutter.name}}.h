/* {{ cookiecutter.name }}.h -- two players drop stones: four in a row win.  Two sides, in turns.
 *
 *      | .   .   .   .   .   . |      a move is a column, and the stone falls to the
 *      | .   .   o   .   .   . |      lowest free place. LINE stones in a row win, across,
 *      | .   .   x   x   o   . |      up or aslant: +1, and -1 for the other. A full frame
 *      | x   o   o   x   x   o |      is a draw
 *      +-----------------------+
 *
 * It has the form of PufferLib 5.0: this header and {{ cookiecutter.name }}.ini are all of it, here and there.
 * Read top to bottom: what a player sees and does, the rules, the state, then puf_reset
 * and puf_step. Whatever you change, `puffer-sdk check` tells you what it broke.
 */
#pragma once

#include <string.h>             // memset
#include "raylib.h"             // drawing, and bool
typedef unsigned char obs_t;    // what observations are made of; the next line needs it
#include "pufferenv.h"          // Agent, Dict; puffer-sdk has one, and PufferLib its own

//-- Interface: what a player sees and does ---------------------------------------
// Who plays against whom: `match`, `eval` and self-play read this line
// puffer: teams 2 x 1
#define COLS  6
#define ROWS  5
#define CELLS (COLS * ROWS)     // the lowest row first

// One row of bytes per player, each from its own side. The mask says who moves and where:
// the other one waits, with a mask of zeros, and its action is not looked at
enum {
    OBS_MINE,                       // [0, 1]  where stones of this player lie
    OBS_THEIRS = OBS_MINE + CELLS,  // [0, 1]  and those of the other
    OBS_COUNT = OBS_THEIRS + CELLS
};
#define OBS_SIZE OBS_COUNT
#define NUM_ATNS 1              // actions that a player takes in a step
#define ACT_SIZES {COLS}        // the column of the next stone

//-- Rules ------------------------------------------------------------------------
// Of 100 games that begin with 4 stones at random, two who play at random draw 3 or 4, and c_bot at
// level 1 wins 96 against one of them (tests/test_{{ cookiecutter.name }}.py measures it again)
#define LINE 4

//-- State: one game --------------------------------------------------------------
// An entry a player. What one wins the other loses, so means over both say nothing: `eval` and
// `match` play games against others and count who wins
struct Log {                    // floats: sums over players of finished games, divided by n
    float perf;                 // 1 for a win, 0.5 for a draw, 0 for a loss
    float episode_return;       // 1, 0, -1: every reward but the last one is 0
    float episode_length;       // ticks: moves of both
    float n;                    // players summed here; must stay the last field
};

struct Env {
    // Shared with the trainer, which owns what agents point at: fill it, never free it
    Log log;
    Agent agents[2];                // each ->observations  out [OBS_SIZE]
                                    //      ->actions       in  [1]  a column, stored as a float
                                    //      ->rewards       out [1]
                                    //      ->terminals     out [1]  1 for both at a game's end
                                    //      ->action_mask   out [COLS]  1 for a column with room
    int num_agents;                 // 2: puf_init sets it
    int tag;                        // of PufferLib's trainer
    int boundary_reached;           // the same
    unsigned int rng;               // this copy's seed, then its generator state
    int opening;                    // from [env]: stones that lie at random when a game begins
    int turn;                       // who moves. From here on private: puf_reset sets all of it
    signed char cells[CELLS];       // whose stone lies there, -1: free
    int stones;                     // of both
    int last;                       // where the latest stone lies, -1: nowhere yet
};

// Uniform in [0, count). The state lives in the env, not in rand(), so that a game depends
// only on its seed and copies can step on any thread
static inline int random_below(Env* env, int count) {
    unsigned int bits = (env->rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    return (int)((bits >> 8) % (unsigned int)count);
}

// Where a stone in this column comes to lie, -1: the column is full
static inline int landing(const Env* env, int col) {
    int cell = col;
    while (cell < CELLS && env->cells[cell] >= 0) cell += COLS;
    return cell < CELLS ? cell : -1;
}

// Whether a stone of this player in this cell completes a line
static inline bool wins(const Env* env, int cell, int player) {
    const int ways[4][2] = { {1, 0}, {0, 1}, {1, 1}, {1, -1} };    // across, up, aslant
    for (int way = 0; way < 4; way++) {
        for (int i = 1 - LINE, count = 0; i < LINE; i++) {          // through this cell
            int col = cell % COLS + i * ways[way][0], row = cell / COLS + i * ways[way][1];
            bool inside = col >= 0 && col < COLS && row >= 0 && row < ROWS;
            bool own = i == 0 || (inside && env->cells[row * COLS + col] == player);
            count = own ? count + 1 : 0;
            if (count == LINE) return true;
        }
    }
    return false;
}

// The stone of whoever's turn it is. One for a full column, against the mask, goes into the next
static inline bool drop(Env* env, int col) {
    while (landing(env, col) < 0) col = (col + 1) % COLS;
    env->last = landing(env, col);
    env->cells[env->last] = (signed char)env->turn;
    env->stones += 1;
    env->turn = 1 - env->turn;
    return wins(env, env->last, 1 - env->turn);
}

static inline void observe(Env* env) {
    for (int player = 0; player < 2; player++) {
        obs_t* obs = env->agents[player].observations;
        unsigned char* mask = env->agents[player].action_mask;
        for (int cell = 0; cell < CELLS; cell++) {
            obs[OBS_MINE + cell] = env->cells[cell] == player;
            obs[OBS_THEIRS + cell] = env->cells[cell] == 1 - player;
        }
        bool moves = player == env->turn;
        for (int col = 0; col < COLS; col++) mask[col] = moves && landing(env, col) >= 0;
    }
}

//-- Functions: puf_init, puf_close, puf_log, then the two that matter ------------
// Runs once, with the keys of [env]. The agents' arrays are not bound yet
void puf_init(Env* env, Dict* kwargs) {
    env->opening = (int)dict_get(kwargs, "opening");
    env->num_agents = 2;
    for (int player = 0; player < 2; player++) env->agents[player].policy = 0;
}

// Runs last. Free what this file allocated: nothing
void puf_close(Env* env) {
    (void)env;
    if (IsWindowReady()) CloseWindow();     // of puf_render
}

// The means to report, by name; `n` is divided by already
void puf_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}

// A few stones at random, or the same two policies would play the same game for ever
void puf_reset(Env* env) {
    memset(env->cells, -1, sizeof(env->cells));
    env->turn = random_below(env, 2);
    env->stones = 0;
    env->last = -1;
    while (env->stones < env->opening) drop(env, random_below(env, COLS));
    observe(env);
}

// Player 0's column, from the keyboard, -1: no key yet. `play` and the programs of `build` call
// this while LEFT SHIFT is held, and wait for a key
static inline void c_keys(Env* env) {
    env->agents[0].actions[0] = -1.0f;
    for (int col = 0; col < COLS; col++) {
        if (IsKeyDown(KEY_ONE + col)) env->agents[0].actions[0] = (float)col;
    }
}

// One stone
void puf_step(Env* env) {
#ifdef PUFFERCPU_EVAL_MAIN          // PufferLib's player, which leaves the keys to its environments
    if (IsKeyDown(KEY_LEFT_SHIFT)) c_keys(env);
    if (env->turn == 0 && env->agents[0].actions[0] < 0.0f) return;
#endif
    int player = env->turn;
    bool won = drop(env, (int)env->agents[player].actions[0]), done = won || env->stones == CELLS;
    // Write both on every step, for both: the arrays may hold anything
    for (int each = 0; each < 2; each++) {
        float reward = !won ? 0.0f : each == player ? 1.0f : -1.0f;
        env->agents[each].rewards[0] = reward;
        env->agents[each].terminals[0] = done ? 1.0f : 0.0f;
        if (!done) continue;
        env->log.perf += 0.5f + 0.5f * reward;
        env->log.episode_return += reward;
        env->log.episode_length += (float)(env->stones - env->opening);
        env->log.n += 1.0f;
    }
    if (done) puf_reset(env);     // the next observation opens the next game
    else observe(env);
}

// A player to measure policies against: `match`, and eval --opponent bot:1. PufferLib does not
// call it. At level 1 it wins where it can and prevents a win where it must; else it plays near
// the middle
void c_bot(Env* env, int agent, int level) {
    int best = 0, best_worth = -1;
    for (int col = 0; col < COLS; col++) {
        int cell = landing(env, col), worth = col < COLS / 2 ? col : COLS - 1 - col;
        if (cell < 0) continue;
        if (level > 0) worth += 20 * wins(env, cell, agent) + 10 * wins(env, cell, 1 - agent);
        if (worth > best_worth) best = col, best_worth = worth;
    }
    env->agents[agent].actions[0] = (float)best;
}

//-- Drawing: reads the state and never changes it, so a recording is true --------
#define PUF_STEPS_PER_SEC 2     // slow enough to play by hand

void puf_render(Env* env) {
    const Color night = {16, 24, 32, 255}, frame = {38, 62, 104, 255};
    const Color stones[2] = { {255, 190, 60, 255}, {0, 205, 190, 255} };
    const int tile = 96;            // pixels
    if (!IsWindowReady()) {
        InitWindow(COLS * tile, ROWS * tile, "{{ cookiecutter.name }}");
        SetTargetFPS(60);
    }
    BeginDrawing();
    ClearBackground(frame);
    for (int cell = 0; cell < CELLS; cell++) {
        int x = cell % COLS * tile + tile / 2, y = (ROWS - 1 - cell / COLS) * tile + tile / 2;
        if (cell == env->last) DrawCircle(x, y, 44.0f, RAYWHITE);   // the latest
        DrawCircle(x, y, 38.0f, env->cells[cell] < 0 ? night : stones[env->cells[cell]]);
    }
    EndDrawing();
    puf_web_vsync();            // in a web page of PufferLib: waits for the screen
}
