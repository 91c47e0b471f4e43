// minefield: a drone hovers over a field with buried mines and uncovers it tile by tile.
//
// An uncovered tile tells how many of its eight neighbours hide a mine. A tile without any opens
// all tiles around it, and so on, as in the game that everybody knows. Different from that game:
// the drone has to fly to a tile, it survives a few blasts, and it carries a few kits. With a kit
// it opens a tile without risk: a mine is then disarmed. Opening a cave of CAVE tiles at one
// stroke finds a new kit, but it holds no more than it started with.
//
// Reward: each safe tile 1 / (tiles that were left to open at the start), so 1 in all, a bonus for
// clearing the field, a little for each mine disarmed, and blast_cost for each that goes off.
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

enum {
    OBS_ROW,                // [0, 1]  where the drone is
    OBS_COL,                // [0, 1]
    OBS_LIVES,              // [0, 1]  share that is left
    OBS_KITS,               // [0, 1]  share that is left
    OBS_LEFT,               // [0, 1]  share of the safe tiles still covered
    OBS_BOARD               // image env->height x env->width x 4
};
enum { PLANE_COVERED, PLANE_CLUE, PLANE_MINE, PLANE_DRONE, PLANES };
#define OBS_SIZE (OBS_BOARD + 4 * env->height * env->width)

enum { GO_NORTH, GO_EAST, GO_SOUTH, GO_WEST, PROBE, DISARM, NUM_MOVES };
#define ACT_SIZES {NUM_MOVES}

#define CAVE 8
#define CLEAR_BONUS 0.5f

typedef struct Log {
    float perf;             // share of the tiles opened that were there to be opened
    float score;            // the same, less a quarter for each mine that went off
    float episode_return;
    float episode_length;
    float cleared;          // share of fields cleared
    float disarmed;         // mines disarmed
    float n;
} Log;

typedef enum { COVERED, OPENED, BLASTED, DISARMED } Ground;

typedef struct Tile {
    Ground ground;
    bool mine;
    int clue;               // mines among the neighbours
} Tile;

typedef struct Minefield {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    float* final_observations;
    int num_agents;
    unsigned int rng;

    // settings
    int width, height;
    int mines;
    int lives;
    int kits;
    int max_ticks;
    float blast_cost;
    float disarm_bonus;

    Tile* field;            // height * width
    int* todo;              // height * width: the tiles whose neighbours are to be opened
    int row, col;
    int lives_left, kits_left;
    int safe;               // tiles without a mine
    int at_start;           // of these, covered when the episode began
    int left;               // of these, covered now
    int disarmed;
    int tick;
    float earned;           // in this episode
} Minefield;

// PCG: any seed will do, also 0
static unsigned int roll(Minefield* env, unsigned int sides) {
    unsigned int state = env->rng;
    env->rng = state * 747796405u + 2891336453u;
    unsigned int word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
    word = (word >> 22) ^ word;
    return (unsigned int)(((unsigned long long)word * sides) >> 32);
}

static inline int larger(int a, int b) { return a > b ? a : b; }
static inline int smaller(int a, int b) { return a < b ? a : b; }

void init(Minefield* env) {
    size_t tiles = (size_t)env->width * (size_t)env->height;
    env->field = (Tile*)calloc(tiles, sizeof(Tile));
    env->todo = (int*)calloc(tiles, sizeof(int));
}

void c_close(Minefield* env) {
    free(env->field);
    free(env->todo);
    env->field = NULL;
    env->todo = NULL;
}

static int count_mines(const Minefield* env, int row, int col) {
    int top = larger(row - 1, 0), bottom = smaller(row + 1, env->height - 1);
    int first = larger(col - 1, 0), last = smaller(col + 1, env->width - 1);
    int count = 0;
    for (int r = top; r <= bottom; r++) {
        for (int c = first; c <= last; c++) {
            if (r == row && c == col) continue;
            count += env->field[r * env->width + c].mine;
        }
    }
    return count;
}

// Opens a safe tile, and all around it while there is no clue. Returns how many were opened
static int open_from(Minefield* env, int row, int col) {
    int* todo = env->todo;
    int known = 0, done = 0;
    todo[known++] = row * env->width + col;
    env->field[todo[0]].ground = OPENED;
    while (done < known) {
        int here = todo[done++];
        if (env->field[here].clue > 0) continue;
        int r = here / env->width, c = here % env->width;
        for (int dr = -1; dr <= 1; dr++) {
            for (int dc = -1; dc <= 1; dc++) {
                if (r + dr < 0 || r + dr >= env->height) continue;
                if (c + dc < 0 || c + dc >= env->width) continue;
                int next = here + dr * env->width + dc;
                if (env->field[next].ground != COVERED) continue;
                env->field[next].ground = OPENED;
                todo[known++] = next;
            }
        }
    }
    env->left -= known;
    return known;
}

// What the drone sees. No clock: running out of it is no fault of the drone, see c_step
static void look(const Minefield* env, float* out) {
    out[OBS_ROW] = ((float)env->row + 0.5f) / (float)env->height;
    out[OBS_COL] = ((float)env->col + 0.5f) / (float)env->width;
    out[OBS_LIVES] = (float)env->lives_left / (float)larger(env->lives, 1);
    out[OBS_KITS] = (float)env->kits_left / (float)larger(env->kits, 1);
    out[OBS_LEFT] = (float)env->left / (float)env->safe;
    int tiles = env->height * env->width, drone = env->row * env->width + env->col;
    float* plane = out + OBS_BOARD;
    for (int t = 0; t < tiles; t++, plane += PLANES) {
        const Tile* tile = &env->field[t];
        bool mine_seen = tile->ground == BLASTED || tile->ground == DISARMED;
        plane[PLANE_COVERED] = tile->ground == COVERED ? 1.0f : 0.0f;
        plane[PLANE_CLUE] = tile->ground == OPENED ? (float)tile->clue / 8.0f : 0.0f;
        plane[PLANE_MINE] = mine_seen ? 1.0f : 0.0f;
        plane[PLANE_DRONE] = t == drone ? 1.0f : 0.0f;
    }
}

// The first tile and its neighbours are free of mines and open when the episode begins
static void lay_mines(Minefield* env) {
    int free_tiles = 0;
    for (int r = 0; r < env->height; r++) {
        for (int c = 0; c < env->width; c++) {
            if (abs(r - env->row) <= 1 && abs(c - env->col) <= 1) continue;
            env->todo[free_tiles++] = r * env->width + c;
        }
    }
    int laid = smaller(env->mines, free_tiles);
    for (int m = 0; m < laid; m++) {
        int pick = m + (int)roll(env, (unsigned int)(free_tiles - m));
        int tile = env->todo[pick];
        env->todo[pick] = env->todo[m];
        env->field[tile].mine = true;
    }
    env->safe = env->height * env->width - laid;
    for (int r = 0; r < env->height; r++) {
        for (int c = 0; c < env->width; c++) {
            env->field[r * env->width + c].clue = count_mines(env, r, c);
        }
    }
}

void c_reset(Minefield* env) {
    size_t tiles = (size_t)env->width * (size_t)env->height;
    memset(env->field, 0, tiles * sizeof(Tile));
    env->row = (int)roll(env, (unsigned int)env->height);
    env->col = (int)roll(env, (unsigned int)env->width);
    lay_mines(env);
    env->left = env->safe;
    open_from(env, env->row, env->col);
    env->at_start = env->left;
    env->lives_left = env->lives;
    env->kits_left = env->kits;
    env->disarmed = 0;
    env->tick = 0;
    env->earned = 0.0f;
    look(env, env->observations);
}

// Over the edge of the field the wind is too strong: the drone stays
static bool fly(Minefield* env, int action) {
    int row = env->row + (action == GO_SOUTH) - (action == GO_NORTH);
    int col = env->col + (action == GO_EAST) - (action == GO_WEST);
    if (row < 0 || row >= env->height || col < 0 || col >= env->width) return false;
    env->row = row;
    env->col = col;
    return true;
}

// Opens the tile below the drone, with a kit or without. Returns the reward
static float dig(Minefield* env, bool with_kit) {
    Tile* tile = &env->field[env->row * env->width + env->col];
    if (tile->ground != COVERED) return 0.0f;
    if (with_kit) {
        if (env->kits_left <= 0) return 0.0f;
        env->kits_left--;
    }
    if (tile->mine && with_kit) {
        tile->ground = DISARMED;
        env->disarmed++;
        return env->disarm_bonus;
    }
    if (tile->mine) {
        tile->ground = BLASTED;
        env->lives_left--;
        return -env->blast_cost;
    }
    int opened = open_from(env, env->row, env->col);
    if (opened >= CAVE && env->kits_left < env->kits) env->kits_left++;
    return (float)opened / (float)env->at_start;
}

static void write_log(Minefield* env, bool cleared) {
    int opened = env->at_start - env->left;
    float share = env->at_start > 0 ? (float)opened / (float)env->at_start : 1.0f;
    env->log.perf += share;
    env->log.score += share - 0.25f * (float)(env->lives - env->lives_left);
    env->log.episode_return += env->earned;
    env->log.episode_length += (float)env->tick;
    env->log.cleared += cleared ? 1.0f : 0.0f;
    env->log.disarmed += (float)env->disarmed;
    env->log.n += 1.0f;
}

void c_step(Minefield* env) {
    int action = (int)env->actions[0];
    float reward = 0.0f;
    env->terminals[0] = 0.0f;
    env->truncations[0] = 0.0f;
    env->tick++;

    if (action == PROBE || action == DISARM) {
        reward = dig(env, action == DISARM);
    } else {
        fly(env, action);
    }

    bool cleared = env->left == 0;
    bool lost = env->lives_left <= 0;
    bool late = env->tick >= env->max_ticks;
    if (cleared) reward += CLEAR_BONUS;
    env->earned += reward;
    env->rewards[0] = reward;
    if (!cleared && !lost && !late) {
        look(env, env->observations);
        return;
    }

    if (!cleared && !lost) {        // only the clock: the drone could have gone on
        env->truncations[0] = 1.0f;
        look(env, env->final_observations);
    }
    env->terminals[0] = 1.0f;
    write_log(env, cleared);
    c_reset(env);
}

void c_render(Minefield* env) {
    const int side = 48, bar = 36;
    const Color clues[9] = {LIGHTGRAY, BLUE, DARKGREEN, RED, DARKBLUE, MAROON, PURPLE, BLACK, BROWN};
    if (!IsWindowReady()) {
        InitWindow(env->width * side, env->height * side + bar, "minefield");
        SetTargetFPS(10);
    }
    BeginDrawing();
    ClearBackground(DARKGRAY);
    DrawText(TextFormat("lives %d  kits %d  left %d  tick %d", env->lives_left, env->kits_left,
                        env->left, env->tick), 8, 8, 20, RAYWHITE);
    for (int r = 0; r < env->height; r++) {
        for (int c = 0; c < env->width; c++) {
            const Tile* tile = &env->field[r * env->width + c];
            int x = c * side, y = bar + r * side;
            Color ground = tile->ground == COVERED ? GRAY : LIGHTGRAY;
            DrawRectangle(x + 1, y + 1, side - 2, side - 2, ground);
            if (tile->ground == BLASTED) DrawCircle(x + side / 2, y + side / 2, 14.0f, RED);
            if (tile->ground == DISARMED) DrawCircle(x + side / 2, y + side / 2, 14.0f, GREEN);
            if (tile->ground == OPENED && tile->clue > 0) {
                DrawText(TextFormat("%d", tile->clue), x + 18, y + 12, 24, clues[tile->clue]);
            }
        }
    }
    DrawCircle(env->col * side + side / 2, bar + env->row * side + side / 2, 8.0f, ORANGE);
    EndDrawing();
}
