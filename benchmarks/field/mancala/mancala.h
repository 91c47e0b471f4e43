/*
 * Mancala (Kalah) for two learning agents. Agent 0 owns pits 0..5 and store 6,
 * agent 1 owns pits 7..12 and store 13. Both agents submit an action on every step,
 * but only that of the side to move is looked at.
 *
 * Row of an agent (bytes), always seen from its own side of the board:
 *   0..6    own pits, own store
 *   7..13   the other's pits and store
 *   14, 15  one-hot: I am to move / the other is to move
 *   16..27  one-hot of the pit that was played last (0..5 mine, 6..11 the other's)
 */
#ifndef MANCALA_H
#define MANCALA_H

#include <stdbool.h>
#include <string.h>
#include "raylib.h"

#define PITS        6
#define HOLES       14
#define O_TURN      14
#define O_LAST      16
#define OBS_SIZE    28
#define ACT_SIZES   {6}

#define WIN_REWARD      1.0f
#define ILLEGAL_REWARD  -0.05f

typedef struct {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    // settings
    int seeds;              // in every pit at the start
    int jitter;             // seeds that change pits before the game begins
    int max_plies;
    float capture_reward;   // per captured seed
    // the game
    int board[HOLES];
    int turn;               // 0 or 1
    int last;               // hole that was played last, -1 at the start
    int ply;
    float returns[2];
    int captured[2];
} Mancala;

static inline unsigned int next_rand(Mancala* env) {
    env->rng += 0x6D2B79F5u;
    unsigned int z = env->rng;
    z = (z ^ (z >> 15)) * (z | 1u);
    z ^= z + (z ^ (z >> 7)) * (z | 61u);
    return z ^ (z >> 14);
}

static inline int store_of(int side) { return side == 0 ? 6 : 13; }
static inline int relative(int hole, int side) { return (hole + 7 * side) % HOLES; }

static inline int row_sum(Mancala* env, int side) {
    int sum = 0;
    for (int p = 0; p < PITS; p++) {
        sum += env->board[7 * side + p];
    }
    return sum;
}

void init(Mancala* env) {
    env->num_agents = 2;
    if (env->seeds < 1) {
        env->seeds = 1;
    }
}

void compute_observations(Mancala* env) {
    for (int side = 0; side < 2; side++) {
        unsigned char* obs = env->observations + side * OBS_SIZE;
        for (int h = 0; h < HOLES; h++) {
            int count = env->board[h];
            obs[relative(h, side)] = count > 255 ? 255 : count;
        }
        memset(obs + O_TURN, 0, OBS_SIZE - O_TURN);
        obs[O_TURN + (env->turn == side ? 0 : 1)] = 1;
        if (env->last >= 0) {
            int rel = relative(env->last, side);
            obs[O_LAST + (rel < 6 ? rel : rel - 1)] = 1;
        }
    }
}

void c_reset(Mancala* env) {
    for (int h = 0; h < HOLES; h++) {
        env->board[h] = (h == 6 || h == 13) ? 0 : env->seeds;
    }
    for (int k = 0; k < env->jitter; k++) {
        int from = next_rand(env) % PITS + 7 * (next_rand(env) % 2);
        int to = next_rand(env) % PITS + 7 * (next_rand(env) % 2);
        if (env->board[from] > 0 && row_sum(env, from / 7) > 1) {
            env->board[from]--;
            env->board[to]++;
        }
    }
    env->turn = next_rand(env) % 2;
    env->last = -1;
    env->ply = 0;
    for (int side = 0; side < 2; side++) {
        env->returns[side] = 0;
        env->captured[side] = 0;
    }
    compute_observations(env);
}

// Sow the pit; returns the hole of the last seed
static int sow(Mancala* env, int hole, int side) {
    int hand = env->board[hole];
    env->board[hole] = 0;
    while (hand > 0) {
        hole = (hole + 1) % HOLES;
        if (hole == store_of(1 - side)) {
            continue;       // never into the other's store
        }
        env->board[hole]++;
        hand--;
    }
    return hole;
}

static void finish(Mancala* env) {
    for (int side = 0; side < 2; side++) {
        for (int p = 0; p < PITS; p++) {
            env->board[store_of(side)] += env->board[7 * side + p];
            env->board[7 * side + p] = 0;
        }
    }
    int lead = env->board[6] - env->board[13];
    for (int side = 0; side < 2; side++) {
        int mine = side == 0 ? lead : -lead;
        float outcome = mine > 0 ? WIN_REWARD : mine < 0 ? -WIN_REWARD : 0.0f;
        env->rewards[side] += outcome;
        env->returns[side] += outcome;
        env->terminals[side] = 1;
        env->log.perf += mine > 0 ? 1.0f : mine < 0 ? 0.0f : 0.5f;
        env->log.score += env->captured[side];
        env->log.episode_return += env->returns[side];
        env->log.episode_length += env->ply;
        env->log.n += 1;
    }
    c_reset(env);
}

void c_step(Mancala* env) {
    memset(env->rewards, 0, 2 * sizeof(float));
    memset(env->terminals, 0, 2 * sizeof(float));

    int side = env->turn;
    int other = 1 - side;
    int pit = (int)env->actions[side];
    env->ply++;

    // An empty pit may not be played: pay, and play the next one that has seeds
    if (env->board[7 * side + pit] == 0) {
        env->rewards[side] += ILLEGAL_REWARD;
        while (env->board[7 * side + pit] == 0) {
            pit = (pit + 1) % PITS;
        }
    }
    env->last = 7 * side + pit;

    int end = sow(env, env->last, side);
    bool again = end == store_of(side);
    bool on_my_side = end >= 7 * side && end < 7 * side + PITS;
    if (on_my_side && env->board[end] == 1 && env->board[12 - end] > 0) {
        int prize = env->board[12 - end] + 1;
        env->board[12 - end] = 0;
        env->board[end] = 0;
        env->board[store_of(side)] += prize;
        env->captured[side] += prize;
        float gain = env->capture_reward * (prize > 50 ? 50 : prize);
        env->rewards[side] += gain;
        env->rewards[other] -= gain;
    }
    env->returns[0] += env->rewards[0];
    env->returns[1] += env->rewards[1];

    env->turn = again ? side : other;
    if (row_sum(env, 0) == 0 || row_sum(env, 1) == 0 || env->ply >= env->max_plies) {
        finish(env);
        return;
    }
    compute_observations(env);
}

void c_render(Mancala* env) {
    if (!IsWindowReady()) {
        InitWindow(640, 200, "Mancala");
        SetTargetFPS(2);
    }
    BeginDrawing();
    ClearBackground(BEIGE);
    for (int p = 0; p < PITS; p++) {
        DrawText(TextFormat("%d", env->board[12 - p]), 100 + 75 * p, 40, 30, MAROON);
        DrawText(TextFormat("%d", env->board[p]), 100 + 75 * p, 130, 30, DARKBLUE);
    }
    DrawText(TextFormat("%d", env->board[13]), 30, 85, 40, MAROON);
    DrawText(TextFormat("%d", env->board[6]), 570, 85, 40, DARKBLUE);
    EndDrawing();
}

void c_close(Mancala* env) {
    (void)env;
}

#endif
