// matchthree: swap two neighbouring gems so that three or more of a colour line up.
//
// Every episode wants one colour: clear `quota` gems of it within `moves` swaps. A swap that lines
// nothing up is taken back: it costs no move, but a tick and a small penalty. Four or more in a line
// leave a star behind, and a star that is cleared takes its whole row and column with it.
// After `patience` misses in a row the board shows a hint.

#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define SIDE 8
#define CELLS (SIDE * SIDE)
#define MAX_COLOURS 8               // a gem is its colour, a star is its colour + MAX_COLOURS
#define MIN_COLOURS 4               // with fewer, a cascade might never settle
#define ACROSS (SIDE * (SIDE - 1))  // swaps with the gem to the right; as many with the gem below
#define SWAPS (2 * ACROSS)
#define STEPS 16                    // clocks and counters are shown in sixteenths
#define TOP_MISSES 12
#define TOP_CHAIN 6
#define TOP_CLEARED 20

enum {
    OBS_BOARD,                              // grid 8 x 8 of 16 ids
    OBS_WANTED = OBS_BOARD + CELLS,         // grid 8 x 8 of 2 ids
    OBS_HINT = OBS_WANTED + CELLS,          // grid 8 x 8 of 2 ids
    OBS_NEED = OBS_HINT + CELLS,            // [0, 16]
    OBS_MOVES,                              // [0, 16]
    OBS_CLOCK,                              // [0, 16]
    OBS_MISSES,                             // [0, 12]
    OBS_CHAIN,                              // [0, 6]
    OBS_CLEARED,                            // [0, 20]
    OBS_COUNT
};

#define OBS_SIZE OBS_COUNT
#define ACT_SIZES {SWAPS}
enum { KEEP, DOOMED, SPENT };       // marks of one round of a cascade

typedef struct Log {
    float perf;             // share of the quota that was filled
    float score;            // points: gems cleared, each times the depth of its cascade
    float episode_return;
    float episode_length;
    float won;
    float best_chain;       // deepest cascade of the episode
    float miss_rate;        // share of ticks whose swap was taken back
    float n;
} Log;

typedef struct MatchThree {
    Log log;
    unsigned char *observations, *final_observations;
    float *actions, *rewards, *terminals, *truncations;
    int num_agents;
    unsigned int rng;

    int colours, moves, quota, patience, max_ticks;     // settings
    float penalty;

    unsigned char* board;   // CELLS gems, row by row from the top
    unsigned char* doomed;  // CELLS marks of the round that is being resolved
    int wanted;             // the colour to collect
    int need;               // how many more of it
    int left, tick;         // moves that are left, swaps tried
    int misses, missed;     // swaps taken back: since the last good one, in the whole episode
    int chain, cleared;     // rounds of the last cascade, and the gems that it took
    int best_chain, points;
    int spare;              // a swap that works, for the hint
    float total;
} MatchThree;

// PCG, one word of state. Any seed will do
static inline int draw(MatchThree* env, int count) {
    env->rng = env->rng * 747796405u + 2891336453u;
    uint32_t word = ((env->rng >> ((env->rng >> 28) + 4)) ^ env->rng) * 277803737u;
    word = (word >> 22) ^ word;
    return (int)(((uint64_t)word * (uint32_t)count) >> 32);
}

static inline int at_most(int value, int top) {
    return value < top ? value : top;
}

static inline unsigned char sixteenths(int part, int whole) {
    return (unsigned char)((part * STEPS + whole - 1) / whole);
}

// How many more gems of the colour at (row, col) follow it in one direction
static inline int reach(const unsigned char* board, int row, int col, int down, int right) {
    int colour = board[row * SIDE + col] % MAX_COLOURS;
    int count = 0;
    for (;; count++) {
        row += down;
        col += right;
        if (row < 0 || row >= SIDE || col < 0 || col >= SIDE) return count;
        if (board[row * SIDE + col] % MAX_COLOURS != colour) return count;
    }
}

static inline bool lined_up(const unsigned char* board, int cell) {
    int row = cell / SIDE, col = cell % SIDE;
    return reach(board, row, col, 0, -1) + reach(board, row, col, 0, 1) >= 2
        || reach(board, row, col, -1, 0) + reach(board, row, col, 1, 0) >= 2;
}

// The two cells of a swap: first those along the rows, then those down the columns
static inline void cells_of(int swap, int* one, int* other) {
    if (swap < ACROSS) {
        *one = swap / (SIDE - 1) * SIDE + swap % (SIDE - 1);
        *other = *one + 1;
    } else {
        *one = swap - ACROSS;
        *other = *one + SIDE;
    }
}

static inline void exchange(unsigned char* board, int one, int other) {
    unsigned char gem = board[one];
    board[one] = board[other];
    board[other] = gem;
}

static inline bool swap_works(unsigned char* board, int swap) {
    int one, other;
    cells_of(swap, &one, &other);
    exchange(board, one, other);
    bool works = lined_up(board, one) || lined_up(board, other);
    exchange(board, one, other);
    return works;
}

// Any swap that works, or -1. Starts anywhere, so that hints are not all in one corner
static inline int find_swap(MatchThree* env) {
    int start = draw(env, SWAPS);
    for (int i = 0; i < SWAPS; i++) {
        int swap = (start + i) % SWAPS;
        if (swap_works(env->board, swap)) return swap;
    }
    return -1;
}

// Fills the board with plain gems, nothing lined up, and at least one swap that works
static inline void deal(MatchThree* env) {
    unsigned char* board = env->board;
    do {
        for (int cell = 0; cell < CELLS; cell++) {
            int row = cell / SIDE, col = cell % SIDE;
            bool clash;
            do {
                int gem = draw(env, env->colours);
                clash = (col >= 2 && board[cell - 1] == gem && board[cell - 2] == gem)
                     || (row >= 2 && board[cell - SIDE] == gem && board[cell - 2 * SIDE] == gem);
                board[cell] = (unsigned char)gem;
            } while (clash);
        }
        env->spare = find_swap(env);
    } while (env->spare < 0);
}

// Everything above a hole falls, new gems come in at the top
static inline void refill(MatchThree* env, const unsigned char* doomed) {
    unsigned char* board = env->board;
    for (int col = 0; col < SIDE; col++) {
        int floor = SIDE - 1;
        for (int row = SIDE - 1; row >= 0; row--) {
            if (doomed[row * SIDE + col] != KEEP) continue;
            board[floor-- * SIDE + col] = board[row * SIDE + col];
        }
        for (; floor >= 0; floor--) {
            board[floor * SIDE + col] = (unsigned char)draw(env, env->colours);
        }
    }
}

// One round: marks the lines, lets stars go off, takes the marked gems. False if nothing lines up
static inline bool resolve(MatchThree* env) {
    unsigned char* board = env->board;
    unsigned char* doomed = env->doomed;
    bool any = false;
    memset(doomed, KEEP, CELLS);
    for (int cell = 0; cell < CELLS; cell++) {
        if (!lined_up(board, cell)) continue;
        doomed[cell] = DOOMED;
        any = true;
    }
    if (!any) return false;

    // A star can set off another one, which may lie before it
    for (bool again = true; again;) {
        again = false;
        for (int cell = 0; cell < CELLS; cell++) {
            if (doomed[cell] != DOOMED || board[cell] < MAX_COLOURS) continue;
            doomed[cell] = SPENT;
            again = true;
            for (int i = 0; i < SIDE; i++) {
                int beside = cell / SIDE * SIDE + i, above = i * SIDE + cell % SIDE;
                if (doomed[beside] == KEEP) doomed[beside] = DOOMED;
                if (doomed[above] == KEEP) doomed[above] = DOOMED;
            }
        }
    }

    // The first gem of a line of four stays, as a star
    for (int cell = 0; cell < CELLS; cell++) {
        int row = cell / SIDE, col = cell % SIDE;
        bool begins = (reach(board, row, col, 0, -1) == 0 && reach(board, row, col, 0, 1) >= 3)
                   || (reach(board, row, col, -1, 0) == 0 && reach(board, row, col, 1, 0) >= 3);
        if (!begins) continue;
        board[cell] = (unsigned char)(board[cell] % MAX_COLOURS + MAX_COLOURS);
        doomed[cell] = KEEP;
    }

    env->chain++;
    for (int cell = 0; cell < CELLS; cell++) {
        if (doomed[cell] == KEEP) continue;
        env->cleared++;
        env->points += env->chain;
        if (board[cell] % MAX_COLOURS == env->wanted && env->need > 0) env->need--;
    }
    refill(env, doomed);
    return true;
}

static inline void observe(const MatchThree* env, unsigned char* out) {
    for (int cell = 0; cell < CELLS; cell++) {
        out[OBS_BOARD + cell] = env->board[cell];
        out[OBS_WANTED + cell] = env->board[cell] % MAX_COLOURS == env->wanted;
    }
    memset(out + OBS_HINT, 0, CELLS);
    if (env->misses >= env->patience) {
        int one, other;
        cells_of(env->spare, &one, &other);
        out[OBS_HINT + one] = 1;
        out[OBS_HINT + other] = 1;
    }
    out[OBS_NEED] = sixteenths(env->need, env->quota);
    out[OBS_MOVES] = sixteenths(env->left, env->moves);
    out[OBS_CLOCK] = sixteenths(env->tick, env->max_ticks);
    out[OBS_MISSES] = (unsigned char)at_most(env->misses, TOP_MISSES);
    out[OBS_CHAIN] = (unsigned char)at_most(env->chain, TOP_CHAIN);
    out[OBS_CLEARED] = (unsigned char)at_most(env->cleared, TOP_CLEARED);
}

void init(MatchThree* env) {
    if (env->colours < MIN_COLOURS) env->colours = MIN_COLOURS;
    if (env->colours > MAX_COLOURS) env->colours = MAX_COLOURS;
    if (env->moves < 1) env->moves = 1;
    if (env->quota < 1) env->quota = 1;
    if (env->max_ticks < 1) env->max_ticks = 1;
    env->board = (unsigned char*)calloc(CELLS, 1);
    env->doomed = (unsigned char*)calloc(CELLS, 1);
}

void c_close(MatchThree* env) {
    free(env->board);
    free(env->doomed);
}

void c_reset(MatchThree* env) {
    env->wanted = draw(env, env->colours);
    env->need = env->quota;
    env->left = env->moves;
    env->tick = 0;
    env->misses = env->missed = 0;
    env->chain = env->best_chain = 0;
    env->cleared = env->points = 0;
    env->total = 0.0f;
    deal(env);
    observe(env, env->observations);
}

static inline void write_log(MatchThree* env, bool won) {
    Log* log = &env->log;
    log->perf += 1.0f - (float)env->need / (float)env->quota;
    log->score += (float)env->points;
    log->episode_return += env->total;
    log->episode_length += (float)env->tick;
    log->won += won ? 1.0f : 0.0f;
    log->best_chain += (float)env->best_chain;
    log->miss_rate += (float)env->missed / (float)env->tick;
    log->n += 1.0f;
}

void c_step(MatchThree* env) {
    int swap = (int)env->actions[0];
    float reward = 0.0f;
    env->tick++;
    env->chain = 0;
    env->cleared = 0;

    if (swap_works(env->board, swap)) {
        int one, other, before = env->need;
        cells_of(swap, &one, &other);
        exchange(env->board, one, other);
        env->left--;
        env->misses = 0;
        while (resolve(env)) {}
        if (env->chain > env->best_chain) env->best_chain = env->chain;
        reward = (float)(before - env->need) / (float)env->quota;
        env->spare = find_swap(env);
        if (env->spare < 0) deal(env);
    } else {
        env->misses++;
        env->missed++;
        reward = -env->penalty;
    }

    bool won = env->need <= 0;
    bool spent = !won && env->left == 0;
    bool late = !won && !spent && env->tick >= env->max_ticks;
    if (won) reward += 1.0f;
    env->total += reward;
    env->rewards[0] = reward;
    env->terminals[0] = won || spent || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (late) observe(env, env->final_observations);

    if (won || spent || late) {
        write_log(env, won);
        c_reset(env);
    } else {
        observe(env, env->observations);
    }
}

void c_render(MatchThree* env) {
    const Color paint[MAX_COLOURS] = {RED, ORANGE, YELLOW, GREEN, SKYBLUE, VIOLET, PINK, BEIGE};
    const int tile = 72, top = 56;
    if (!IsWindowReady()) {
        InitWindow(SIDE * tile, top + SIDE * tile, "matchthree");
        SetTargetFPS(4);
    }
    BeginDrawing();
    ClearBackground((Color){24, 20, 34, 255});
    for (int cell = 0; cell < CELLS; cell++) {
        int x = cell % SIDE * tile + tile / 2, y = top + cell / SIDE * tile + tile / 2;
        int gem = env->board[cell];
        DrawCircle(x, y, 28.0f, paint[gem % MAX_COLOURS]);
        if (gem >= MAX_COLOURS) DrawCircle(x, y, 11.0f, RAYWHITE);
    }
    DrawCircle(28, top / 2, 16.0f, paint[env->wanted]);
    DrawText(TextFormat("%d to go, %d moves, %d points", env->need, env->left, env->points),
             60, 16, 24, RAYWHITE);
    EndDrawing();
}
