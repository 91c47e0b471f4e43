/* reversi.h -- reversi on a board of 6 x 6 against a scripted opponent.  One agent, 37 actions.
 *
 *        0 1 2 3 4 5   column
 *      0 . . . . . .            X   black, which moves first
 *      1 . . * . . .            O   white
 *      2 . * O X . .            *   where black may play: a move must enclose discs of the
 *      3 . . X O * .                other colour in a straight line, and turns them over
 *      4 . . . * . .
 *      5 . . . . . .            more discs at the end win: +1, fewer -1
 *    row
 *
 * The agent's colour is drawn anew for every game. It always sees the board from its own side
 * and it is always its turn: the opponent answers within the same step. Who has no move must
 * pass; the opponent does so by itself, the agent by its 37th action. Two passes in a row end
 * the game, full board or not.
 *
 * The opponent takes the most discs it can get, and likes corners, with probability `greed`;
 * else any legal move. The first `opening` moves of a game are random ones of both colours.
 *
 * An action that the mask forbids is no error: the next legal one after it, counting on and
 * around, is played instead.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>             // uint64_t
#include <string.h>             // memset
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what the agent sees and does --------------------------------------
#define SIDE         6
#define CELLS        36         // SIDE * SIDE

enum {                          // observations, one byte each; a cell is row * SIDE + column
    OBS_MINE,                           // grid 6 x 6 of 2 ids: 1 where a disc of the agent lies
    OBS_THEIRS = OBS_MINE + 36,         // grid 6 x 6 of 2 ids: 1 where one of the opponent does
    OBS_LEGAL = OBS_THEIRS + 36,        // grid 6 x 6 of 2 ids: 1 where the agent may play
    OBS_LAST = OBS_LEGAL + 36,          // grid 6 x 6 of 2 ids: 1 where the opponent has just
                                        // played; none if it passed or did not move yet
    OBS_AHEAD = OBS_LAST + 36,          // [0, 9]  a quarter of the agent's lead in discs, or 0
    OBS_BEHIND,                         // [0, 9]  a quarter of the opponent's lead, or 0
    OBS_EMPTY,                          // [0, 8]  a quarter of the empty cells
    OBS_BLACK,                          // [0, 1]  1 if the agent plays black
    OBS_PASSED,                         // [0, 1]  1 if the opponent has just passed
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

#define ACT_PASS     36         // actions 0 to 35 are the cells; legal only if none of them is
#define ACT_COUNT    37
#define ACT_SIZES {ACT_COUNT}

//-- Rules: those that are no settings --------------------------------------------
#define MAX_OPENING  4          // random moves at most: so early no game can be over
enum { DARK, LIGHT, NOBODY };  // what a cell holds: black, white (names that raylib took), none

//-- State: one copy of the game --------------------------------------------------
typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  games won, a draw is half of one
    float score;                // [-36, 36] lead in discs at the end
    float episode_return;       // what the trainer maximises
    float episode_length;       // steps, the agent's passes among them
    float passes;               // times that the agent had to pass
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct Reversi {
    // Shared with the trainer, which owns the arrays: fill them, never free them
    Log log;
    unsigned char* observations;    // out [OBS_SIZE]
    unsigned char* action_mask;     // out [ACT_COUNT]  1 = legal
    float* actions;                 // in  [1]  a cell or ACT_PASS
    float* rewards;                 // out [1]
    float* terminals;               // out [1]  1 on the step that ended an episode, else 0
    int num_agents;                 // always 1
    unsigned int rng;               // this copy's seed, then its generator state

    // Settings, from [env] in reversi.ini: matched by name, set before init
    float greed;                    // [0, 1]  share of the opponent's moves that are greedy
    int corner_bonus;               // discs that a corner is worth to the greedy opponent
    int opening;                    // random moves before the game, 0 to MAX_OPENING
    float reward_corner;            // for each corner taken, the same lost to the opponent
    float reward_discs;             // for the lead at the end, as a share of all cells

    // Private to this file. c_reset sets all of it
    unsigned char board[CELLS];     // DARK, LIGHT or NOBODY
    int discs[2];                   // on the board, by colour
    int side;                       // the agent's colour
    int last;                       // cell of the opponent's last answer, -1 if there is none
    bool passed;                    // that answer was a pass
    int tick;                       // steps of this episode
    int passes;                     // of the agent
    float episode_return;
} Reversi;

// Uniform in [0, count). The state lives in the env, so an episode depends only on its seed
static inline int random_below(unsigned int* rng, int count) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (int)(((uint64_t)bits * (uint64_t)count) >> 32);
}

//-- The rules of the game ----------------------------------------------------------
static const int WAYS[8][2] = {
    {-1, -1}, {-1, 0}, {-1, 1}, {0, -1}, {0, 1}, {1, -1}, {1, 0}, {1, 1}
};

static inline bool inside(int row, int col) {
    return row >= 0 && row < SIDE && col >= 0 && col < SIDE;
}

static inline bool is_corner(int cell) {
    return cell == 0 || cell == SIDE - 1 || cell == CELLS - SIDE || cell == CELLS - 1;
}

// Discs that a disc of this colour would enclose from the cell in one direction
static int enclosed(const Reversi* env, int cell, const int* way, int colour) {
    int row = cell / SIDE + way[0], col = cell % SIDE + way[1], count = 0;
    while (inside(row, col) && env->board[row * SIDE + col] == 1 - colour) {
        row += way[0];
        col += way[1];
        count += 1;
    }
    return inside(row, col) && env->board[row * SIDE + col] == colour ? count : 0;
}

// Discs that a move turns over in all; 0 if it is not legal
static int turned_by(const Reversi* env, int cell, int colour) {
    int total = 0;
    if (env->board[cell] != NOBODY) return 0;
    for (int i = 0; i < 8; i++) {
        total += enclosed(env, cell, WAYS[i], colour);
    }
    return total;
}

static bool can_move(const Reversi* env, int colour) {
    for (int cell = 0; cell < CELLS; cell++) {
        if (turned_by(env, cell, colour) > 0) return true;
    }
    return false;
}

// The move must be legal
static void play(Reversi* env, int cell, int colour) {
    for (int i = 0; i < 8; i++) {
        int count = enclosed(env, cell, WAYS[i], colour);
        for (int k = 1; k <= count; k++) {
            env->board[cell + k * (WAYS[i][0] * SIDE + WAYS[i][1])] = (unsigned char)colour;
        }
        env->discs[colour] += count;
        env->discs[1 - colour] -= count;
    }
    env->board[cell] = (unsigned char)colour;
    env->discs[colour] += 1;
}

// Corners of the agent less those of the opponent. A corner is never turned over
static int corner_lead(const Reversi* env) {
    int lead = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        if (is_corner(cell) && env->board[cell] != NOBODY) {
            lead += env->board[cell] == env->side ? 1 : -1;
        }
    }
    return lead;
}

//-- The opponent -------------------------------------------------------------------
// Any legal move, all equally likely; -1 if there is none
static int random_move(Reversi* env, int colour) {
    int moves[CELLS], count = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        if (turned_by(env, cell, colour) > 0) {
            moves[count++] = cell;
        }
    }
    return count > 0 ? moves[random_below(&env->rng, count)] : -1;
}

// The move that gains most, by lot among the best; -1 if there is none
static int greedy_move(Reversi* env, int colour) {
    int best = -1, best_gain = 0, ties = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        int gain = turned_by(env, cell, colour);
        if (gain == 0) continue;
        gain += is_corner(cell) ? env->corner_bonus : 0;
        if (best < 0 || gain > best_gain) {
            best = cell;
            best_gain = gain;
            ties = 1;
        } else if (gain == best_gain) {
            ties += 1;
            best = random_below(&env->rng, ties) == 0 ? cell : best;
        }
    }
    return best;
}

// The opponent moves, or passes if it cannot
static void answer(Reversi* env) {
    const int colour = 1 - env->side;
    bool greedy = random_below(&env->rng, 1000) < (int)(env->greed * 1000.0f);
    int cell = greedy ? greedy_move(env, colour) : random_move(env, colour);
    env->last = cell;
    env->passed = cell < 0;
    if (cell >= 0) play(env, cell, colour);
}

//-- What the agent sees ------------------------------------------------------------
// Writes every byte of the observation and of the mask
static void observe(Reversi* env) {
    const int me = env->side, lead = env->discs[me] - env->discs[1 - me];
    unsigned char* obs = env->observations;
    bool stuck = true;
    memset(obs, 0, OBS_SIZE);
    for (int cell = 0; cell < CELLS; cell++) {
        bool legal = turned_by(env, cell, me) > 0;
        obs[OBS_MINE + cell] = env->board[cell] == me;
        obs[OBS_THEIRS + cell] = env->board[cell] == 1 - me;
        obs[OBS_LEGAL + cell] = legal;
        env->action_mask[cell] = legal;
        stuck = stuck && !legal;
    }
    env->action_mask[ACT_PASS] = stuck;
    if (env->last >= 0) obs[OBS_LAST + env->last] = 1;
    obs[OBS_AHEAD] = (unsigned char)(lead > 0 ? lead / 4 : 0);
    obs[OBS_BEHIND] = (unsigned char)(lead < 0 ? -lead / 4 : 0);
    obs[OBS_EMPTY] = (unsigned char)((CELLS - env->discs[DARK] - env->discs[LIGHT]) / 4);
    obs[OBS_BLACK] = me == DARK;
    obs[OBS_PASSED] = env->passed;
}

//-- Functions: init, c_close, then the two that matter -----------------------------
// Runs once, when the settings are known
void init(Reversi* env) {
    env->opening = env->opening < 0 ? 0 : env->opening > MAX_OPENING ? MAX_OPENING : env->opening;
}

// This file allocates nothing
void c_close(Reversi* env) {
    (void)env;
}

// Begin a game. Leaves rewards and terminals alone: when c_step calls this, they still
// describe the step that just ended
void c_reset(Reversi* env) {
    const int low = SIDE / 2 - 1, high = SIDE / 2;
    memset(env->board, NOBODY, sizeof(env->board));
    env->board[low * SIDE + low] = env->board[high * SIDE + high] = LIGHT;
    env->board[low * SIDE + high] = env->board[high * SIDE + low] = DARK;
    env->discs[DARK] = env->discs[LIGHT] = 2;
    env->side = random_below(&env->rng, 2);
    env->last = -1;
    env->passed = false;
    env->tick = 0;
    env->passes = 0;
    env->episode_return = 0.0f;

    int colour = DARK;
    for (int i = 0; i < env->opening; i++) {
        int cell = random_move(env, colour);
        if (cell >= 0) play(env, cell, colour);
        colour = 1 - colour;
    }
    if (colour != env->side) answer(env);
    observe(env);
}

// What the agent plays: its action, or where that is not legal the next one that is
static int legal_action(const Reversi* env, int action) {
    if (!can_move(env, env->side)) return ACT_PASS;
    int cell = action < 0 || action >= CELLS ? 0 : action;
    while (turned_by(env, cell, env->side) == 0) {
        cell = (cell + 1) % CELLS;
    }
    return cell;
}

// One move of the agent and the answer to it
void c_step(Reversi* env) {
    int move = legal_action(env, (int)env->actions[0]);
    int corners = corner_lead(env);
    if (move == ACT_PASS) {
        env->passes += 1;
    } else {
        play(env, move, env->side);
    }
    answer(env);
    env->tick += 1;

    float reward = env->reward_corner * (float)(corner_lead(env) - corners);
    bool over = !can_move(env, DARK) && !can_move(env, LIGHT);
    int lead = env->discs[env->side] - env->discs[1 - env->side];
    if (over) {
        reward += lead > 0 ? 1.0f : lead < 0 ? -1.0f : 0.0f;
        reward += env->reward_discs * (float)lead / (float)CELLS;
    }
    env->rewards[0] = reward;
    env->terminals[0] = over ? 1.0f : 0.0f;
    env->episode_return += reward;
    if (!over) {
        observe(env);
        return;
    }

    env->log.perf += lead > 0 ? 1.0f : lead < 0 ? 0.0f : 0.5f;
    env->log.score += (float)lead;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.passes += (float)env->passes;
    env->log.n += 1.0f;
    c_reset(env);               // the next observation opens the next game
}

//-- Drawing: reads the state and never changes it ----------------------------------
#ifndef PUFFER_DEVICE
void c_render(Reversi* env) {
    const Color night = {16, 24, 32, 255}, felt = {30, 84, 56, 255}, ink = {10, 12, 14, 255};
    const Color gold = {255, 190, 60, 255};
    const int hud = 44, tile = 80;
    if (!IsWindowReady()) {
        InitWindow(SIDE * tile, hud + SIDE * tile, "reversi");
        SetTargetFPS(4);
    }

    BeginDrawing();
    ClearBackground(night);
    for (int cell = 0; cell < CELLS; cell++) {
        int x = cell % SIDE * tile, y = hud + cell / SIDE * tile;
        DrawRectangle(x + 1, y + 1, tile - 2, tile - 2, felt);
        if (env->board[cell] != NOBODY) {
            DrawCircle(x + tile / 2, y + tile / 2, 0.4f * (float)tile,
                       env->board[cell] == DARK ? ink : RAYWHITE);
        } else if (turned_by(env, cell, env->side) > 0) {
            DrawCircle(x + tile / 2, y + tile / 2, 5.0f, gold);
        }
        if (cell == env->last) DrawCircle(x + tile / 2, y + tile / 2, 8.0f, gold);
    }
    DrawText(TextFormat("agent %s", env->side == DARK ? "black" : "white"), 12, 12, 20, gold);
    DrawText(TextFormat("black %d  white %d", env->discs[DARK], env->discs[LIGHT]),
             SIDE * tile - 220, 12, 20, RAYWHITE);
    EndDrawing();
}
#endif
