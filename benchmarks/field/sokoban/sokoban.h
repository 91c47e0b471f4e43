// Sokoban on an 8x8 floor. Levels are written down below and come mirrored and turned at random.
//
// observation: 64 cells of flag bits, then crates left, then patience left (both scaled to bytes).
// The cells are painted once by c_reset; c_step touches only those that change.
#pragma once
#include <stdint.h>
#include <string.h>
#include "raylib.h"

#define SIDE 8
#define CELLS (SIDE*SIDE)
#define OBS_CRATES_LEFT CELLS
#define OBS_PATIENCE (CELLS + 1)
#define OBS_SIZE (CELLS + 2)
#define ACT_SIZES {4}

enum Flag { WALL = 1, GOAL = 2, CRATE = 4, PLAYER = 8 };
enum Move { NORTH, EAST, SOUTH, WEST };

// '#' wall, '.' goal, '$' crate, '*' crate on goal, '@' player; beyond the edge is wall
static const char* const LEVELS[] = {
    "        " "  @     " "  $ .   " "   ##   " "  .     " "   $    " "        " "##    ##",
    "#      #" "   .    " "  $$    " "  @ .   " "   ##   " "        " "   .$   " "#      #",
    "  ##    " "  @ .   " "   $    " ".$  $  #" "     .  " "   #    " "        " "    ##  ",
    "        " " .$  $. " "    @   " "###  ###" "        " " . $    " "        " "#       ",
    "##    ##" "#  .   #" "   $    " "   @    " "   $    " "   .    " "#      #" "##    ##",
    "        " "   #    " " @ # .  " "  $     " "      $ " "   # .  " "   #    " "        ",
};
#define NUM_LEVELS ((int)(sizeof(LEVELS) / sizeof(LEVELS[0])))

typedef struct {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float solved;
    float deadlocks;
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

    int max_steps;      // [env]

    int player;
    int crates;         // in this level
    int home;           // of them on goals
    int steps;
    float total;
} Sokoban;

static unsigned int roll(unsigned int* state) {
    // PCG-style output of a 32-bit LCG
    unsigned int s = *state;
    *state = s * 747796405u + 2891336453u;
    s = ((s >> ((s >> 28) + 4)) ^ s) * 277803737u;
    return (s >> 22) ^ s;
}

// Where cell (r, c) of the drawing lies after one of the 8 symmetries
static int turned(int r, int c, unsigned int how) {
    int t;
    if (how & 1) c = SIDE - 1 - c;
    if (how & 2) r = SIDE - 1 - r;
    if (how & 4) { t = r; r = c; c = t; }
    return r * SIDE + c;
}

static unsigned char flags_of(char drawn) {
    switch (drawn) {
    case '#': return WALL;
    case '.': return GOAL;
    case '$': return CRATE;
    case '*': return CRATE | GOAL;
    case '@': return PLAYER;
    default:  return 0;
    }
}

// The neighbour of a cell, or -1 beyond the edge
static int beside(int cell, int move) {
    int r = cell / SIDE, c = cell % SIDE;
    switch (move) {
    case NORTH: return r == 0 ? -1 : cell - SIDE;
    case EAST:  return c == SIDE - 1 ? -1 : cell + 1;
    case SOUTH: return r == SIDE - 1 ? -1 : cell + SIDE;
    case WEST:  return c == 0 ? -1 : cell - 1;
    }
    return -1;
}

static int solid(const unsigned char* board, int cell, int what) {
    return cell < 0 || (board[cell] & what) != 0;
}

// A crate off its goal with walls on two adjoining sides can never move again
static int cornered(const unsigned char* board, int cell) {
    if (board[cell] & GOAL) return 0;
    int n = solid(board, beside(cell, NORTH), WALL), s = solid(board, beside(cell, SOUTH), WALL);
    int e = solid(board, beside(cell, EAST), WALL), w = solid(board, beside(cell, WEST), WALL);
    return (n || s) && (e || w);
}

static void write_gauges(Sokoban* env) {
    env->observations[OBS_CRATES_LEFT] = (unsigned char)(env->crates - env->home);
    env->observations[OBS_PATIENCE] =
        (unsigned char)(255 * (env->max_steps - env->steps) / env->max_steps);
}

void init(Sokoban* env) {
    if (env->max_steps < 1) env->max_steps = 1;
    if (env->max_steps > 1000000) env->max_steps = 1000000;
}

void c_reset(Sokoban* env) {
    const char* drawing = LEVELS[roll(&env->rng) % (unsigned int)NUM_LEVELS];
    unsigned int how = (roll(&env->rng) >> 7) & 7;
    env->crates = 0;
    env->home = 0;
    env->steps = 0;
    env->total = 0.0f;
    for (int r = 0; r < SIDE; r++) {
        for (int c = 0; c < SIDE; c++) {
            unsigned char flags = flags_of(drawing[r * SIDE + c]);
            int cell = turned(r, c, how);
            env->observations[cell] = flags;
            if (flags & CRATE) env->crates++;
            if ((flags & CRATE) && (flags & GOAL)) env->home++;
            if (flags & PLAYER) env->player = cell;
        }
    }
    write_gauges(env);
}

void c_step(Sokoban* env) {
    unsigned char* board = env->observations;
    int move = (int)env->actions[0];
    int to = beside(env->player, move);
    int deadlock = 0;
    float reward = -0.01f;
    env->steps++;

    if (!solid(board, to, WALL)) {
        int free_to_go = 1;
        if (board[to] & CRATE) {
            int beyond = beside(to, move);
            free_to_go = !solid(board, beyond, WALL | CRATE);
            if (free_to_go) {
                board[to] &= (unsigned char)~CRATE;
                board[beyond] |= CRATE;
                int gained = ((board[beyond] & GOAL) != 0) - ((board[to] & GOAL) != 0);
                env->home += gained;
                reward += 0.5f * (float)gained;
                deadlock = cornered(board, beyond);
            }
        }
        if (free_to_go) {
            board[env->player] &= (unsigned char)~PLAYER;
            board[to] |= PLAYER;
            env->player = to;
        }
    }

    int solved = env->home == env->crates;
    int late = env->steps >= env->max_steps;
    if (solved) reward += 1.0f;
    else if (deadlock) reward -= 0.5f;
    env->total += reward;
    env->rewards[0] = reward;
    env->terminals[0] = (solved || deadlock || late) ? 1.0f : 0.0f;
    write_gauges(env);
    if (solved || deadlock || late) {
        env->log.perf += (float)env->home / (float)env->crates;
        env->log.score += env->total;
        env->log.episode_return += env->total;
        env->log.episode_length += (float)env->steps;
        env->log.solved += (float)solved;
        env->log.deadlocks += (float)deadlock;
        env->log.n += 1.0f;
        c_reset(env);
    }
}

void c_render(Sokoban* env) {
    if (!IsWindowReady()) {
        InitWindow(SIDE * 60, SIDE * 60, "sokoban");
        SetTargetFPS(6);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    for (int i = 0; i < CELLS; i++) {
        int f = env->observations[i];
        Color c = f & WALL ? GRAY : f & PLAYER ? SKYBLUE : f & CRATE ? BROWN : f & GOAL ? GREEN : BLACK;
        DrawRectangle(i % SIDE * 60, i / SIDE * 60, 58, 58, c);
    }
    EndDrawing();
}

void c_close(Sokoban* env) {
    (void)env;
}
