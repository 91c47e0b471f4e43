/* dungeon.h -- find the way out of the dark.  One agent, five actions, a new dungeon each time.
 *
 *      # # # # # # # # #        @  the hero, with a torch that burns down
 *      #   @   # ? ? ? ?        ?  not seen yet
 *      #     k #   * ? ?        k  a key: opens the door of its colour, once
 *      #       .     ? ?        D  a locked door, as opaque as a wall
 *      # # # # # D # # #        *  a coin
 *      ? ? ? ? ? ? ? ? ?        E  the exit: reach it before the torch is out
 *
 * ROOMS x ROOMS rooms of ROOM x ROOM tiles. A tree of openings joins them all, some of which
 * are locked; a key never lies behind its own door, so every dungeon can be solved. The exit
 * is in the room that was joined last.
 *
 * The hero sees in straight lines, `vision` tiles each way, and remembers: the map that it
 * observes is what it has seen in this episode. It is covered again when the next one begins.
 *
 * Units: length in tiles, time in ticks. A cell is row * SIZE + column; rows count downward.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>             // calloc, free, abs
#include <string.h>             // memset, memcpy
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what the hero sees and does ---------------------------------------
#define ROOMS    3
#define ROOM     3
#define SIZE     (ROOMS * (ROOM + 1) + 1)       // 13
#define REACH    3
#define NEAR     (2 * REACH + 1)                // 7
#define COLOURS  3

enum {                          // what a byte of a map means
    TILE_UNKNOWN,               // not seen in this episode
    TILE_WALL,
    TILE_DOOR,                  // locked, one id for each colour
    TILE_FLOOR = TILE_DOOR + COLOURS,
    TILE_HERO,
    TILE_COIN,
    TILE_KEY,                   // one id for each colour
    TILE_EXIT = TILE_KEY + COLOURS,
    TILE_COUNT                  // 12
};

enum {                          // observations, one byte each
    OBS_MAP,                                    // grid SIZE x SIZE of 12 ids: as remembered
    OBS_NEAR = OBS_MAP + SIZE * SIZE,           // grid NEAR x NEAR of 12 ids: the same, around
                                                // the hero; beyond the dungeon 0
    OBS_KEYS = OBS_NEAR + NEAR * NEAR,          // 2 ids  of each colour, whether it has the key
    OBS_TORCH = OBS_KEYS + COLOURS,             // [0, 255]  what is left of it
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

// Actions, pick one. Into a wall, or a door without its key, is masked: it would be staying
enum { ACT_STAY, ACT_UP, ACT_DOWN, ACT_LEFT, ACT_RIGHT, ACT_COUNT };
#define ACT_SIZES {ACT_COUNT}

//-- State: one dungeon -----------------------------------------------------------
typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  share of episodes in which the exit was reached
    float score;                // [0, 1]  share of this dungeon's coins that were taken
    float episode_return;       // what the trainer maximises
    float episode_length;       // ticks
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct Dungeon {
    // Shared with the trainer, which owns the arrays: fill them, never free them
    Log log;
    unsigned char* observations;    // out [OBS_SIZE]
    float* actions;                 // in  [1]  an ACT_ value, stored as a float
    float* rewards;                 // out [1]
    float* terminals;               // out [1]  1 on the step that ended an episode, else 0
    unsigned char* action_mask;     // out [ACT_COUNT]  1 = legal
    int num_agents;                 // rows of those arrays that are ours; set before init
    unsigned int rng;               // this copy's seed, then its generator state

    // Settings, from [env] in dungeon.ini: matched by name, set before init
    int torch;                      // ticks that it burns
    int vision;                     // tiles that the hero sees each way
    int locks, coins;               // locked doors, at most COLOURS, and coins
    float reward_exit, reward_dark, reward_coin, reward_key, reward_door;
    float reward_seen;              // per cell that is uncovered

    // Private to this file. c_reset sets all of it
    unsigned char* tiles;           // (SIZE, SIZE)  the dungeon       from init to c_close
    unsigned char* memory;          // (SIZE, SIZE)  what was seen     from init to c_close
    int row, col;                   // the hero
    bool keys[COLOURS];
    int placed, taken;              // coins of this dungeon, and those that the hero has
    int tick;                       // steps of this episode
    float episode_return;
} Dungeon;

// Uniform in [0, count)
static inline int random_below(unsigned int* rng, int count) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (int)(((uint64_t)bits * (uint64_t)count) >> 32);
}

static inline bool is_inside(int row, int col) {
    return row >= 0 && row < SIZE && col >= 0 && col < SIZE;
}

// Whether nothing opaque stands between the hero and a cell: Bresenham's line, ends not counted
static inline bool in_sight(const Dungeon* env, int row, int col) {
    int dr = abs(row - env->row), dc = abs(col - env->col);
    int step_r = row > env->row ? 1 : -1, step_c = col > env->col ? 1 : -1;
    int r = env->row, c = env->col, error = dc - dr;
    while (r != row || c != col) {
        bool start = r == env->row && c == env->col;
        if (!start && env->tiles[r * SIZE + c] < TILE_FLOOR) return false;
        int twice = 2 * error;
        if (twice > -dr) { error -= dr; c += step_c; }
        if (twice < dc) { error += dc; r += step_r; }
    }
    return true;
}

// Remembers what is in sight, as it is now. Returns how many cells are new
static inline int look(Dungeon* env) {
    int fresh = 0;
    for (int row = env->row - env->vision; row <= env->row + env->vision; row++) {
        for (int col = env->col - env->vision; col <= env->col + env->vision; col++) {
            if (!is_inside(row, col) || !in_sight(env, row, col)) continue;
            int cell = row * SIZE + col;
            fresh += env->memory[cell] == TILE_UNKNOWN;
            env->memory[cell] = env->tiles[cell];
        }
    }
    return fresh;
}

//-- What the hero may do and what it sees: every byte, each time -----------------------
static inline bool can_enter(const Dungeon* env, int row, int col) {
    unsigned char tile = env->tiles[row * SIZE + col];
    return tile >= TILE_FLOOR || (tile >= TILE_DOOR && env->keys[tile - TILE_DOOR]);
}

static inline void observe(Dungeon* env) {
    unsigned char* obs = env->observations;
    memcpy(obs + OBS_MAP, env->memory, (size_t)(SIZE * SIZE));
    obs[OBS_MAP + env->row * SIZE + env->col] = TILE_HERO;
    unsigned char* out = obs + OBS_NEAR;
    for (int row = env->row - REACH; row <= env->row + REACH; row++) {
        for (int col = env->col - REACH; col <= env->col + REACH; col++) {
            *out++ = is_inside(row, col) ? obs[OBS_MAP + row * SIZE + col] : TILE_UNKNOWN;
        }
    }
    for (int colour = 0; colour < COLOURS; colour++) obs[OBS_KEYS + colour] = env->keys[colour];
    obs[OBS_TORCH] = (unsigned char)(255 * (env->torch - env->tick) / env->torch);

    // The hero is never on the border, which is all wall: its neighbours are inside
    env->action_mask[ACT_STAY] = 1;
    env->action_mask[ACT_UP] = can_enter(env, env->row - 1, env->col);
    env->action_mask[ACT_DOWN] = can_enter(env, env->row + 1, env->col);
    env->action_mask[ACT_LEFT] = can_enter(env, env->row, env->col - 1);
    env->action_mask[ACT_RIGHT] = can_enter(env, env->row, env->col + 1);
}

//-- Building a dungeon -----------------------------------------------------------------
// Some floor in a room, without the hero on it; -1 if there is none
static inline int free_cell(Dungeon* env, int room) {
    int first = random_below(&env->rng, ROOM * ROOM);
    for (int i = 0; i < ROOM * ROOM; i++) {
        int place = (first + i) % (ROOM * ROOM);
        int row = room / ROOMS * (ROOM + 1) + 1 + place / ROOM;
        int col = room % ROOMS * (ROOM + 1) + 1 + place % ROOM;
        bool hero = row == env->row && col == env->col;
        if (env->tiles[row * SIZE + col] == TILE_FLOOR && !hero) return row * SIZE + col;
    }
    return -1;
}

typedef struct Pair { int room, other; } Pair;

// A cell of the wall between two rooms, the second of which is below or right of the first
static inline int wall_between(Dungeon* env, int room, int other) {
    int row = room / ROOMS * (ROOM + 1) + 1, col = room % ROOMS * (ROOM + 1) + 1;
    int along = random_below(&env->rng, ROOM);
    bool below = other == room + ROOMS;
    return below ? (row + ROOM) * SIZE + col + along : (row + along) * SIZE + col + ROOM;
}

// Joins room after room to those that are joined already, by a random opening each. order[i]
// is the room that came as number i, openings[i] the cell through which
static inline void join_rooms(Dungeon* env, int* order, int* openings) {
    bool joined[ROOMS * ROOMS] = {false};
    order[0] = random_below(&env->rng, ROOMS * ROOMS);
    openings[0] = -1;
    joined[order[0]] = true;
    for (int count = 1; count < ROOMS * ROOMS; count++) {
        Pair pairs[2 * ROOMS * ROOMS];          // neighbours, one of them joined
        int found = 0;
        for (int room = 0; room < ROOMS * ROOMS; room++) {
            if (room % ROOMS < ROOMS - 1 && joined[room] != joined[room + 1]) {
                pairs[found++] = (Pair){room, room + 1};
            }
            if (room / ROOMS < ROOMS - 1 && joined[room] != joined[room + ROOMS]) {
                pairs[found++] = (Pair){room, room + ROOMS};
            }
        }
        Pair pair = pairs[random_below(&env->rng, found)];
        order[count] = joined[pair.room] ? pair.other : pair.room;
        openings[count] = wall_between(env, pair.room, pair.other);
        joined[order[count]] = true;
        env->tiles[openings[count]] = TILE_FLOOR;
    }
}

// Locks an opening and lays its key into a room that was joined before it. The way there goes
// through earlier openings only, whose keys lie in still earlier rooms: all can be had
static inline void lock_door(Dungeon* env, int colour, const int* order, const int* openings) {
    int last = ROOMS * ROOMS - 1, number = 1 + random_below(&env->rng, last);
    while (env->tiles[openings[number]] != TILE_FLOOR) number = number < last ? number + 1 : 1;
    int cell = free_cell(env, order[random_below(&env->rng, number)]);
    if (cell < 0) return;
    env->tiles[openings[number]] = (unsigned char)(TILE_DOOR + colour);
    env->tiles[cell] = (unsigned char)(TILE_KEY + colour);
}

static inline void build(Dungeon* env) {
    int order[ROOMS * ROOMS], openings[ROOMS * ROOMS];
    memset(env->tiles, TILE_WALL, (size_t)(SIZE * SIZE));
    for (int cell = 0; cell < SIZE * SIZE; cell++) {
        bool wall = cell / SIZE % (ROOM + 1) == 0 || cell % SIZE % (ROOM + 1) == 0;
        if (!wall) env->tiles[cell] = TILE_FLOOR;
    }
    join_rooms(env, order, openings);
    env->row = env->col = 0;            // nowhere yet: so it is in nobody's way
    int start = free_cell(env, order[0]);
    env->row = start / SIZE;
    env->col = start % SIZE;
    env->tiles[free_cell(env, order[ROOMS * ROOMS - 1])] = TILE_EXIT;
    for (int colour = 0; colour < env->locks; colour++) lock_door(env, colour, order, openings);
    env->placed = 0;
    for (int coin = 0; coin < env->coins; coin++) {
        int cell = free_cell(env, random_below(&env->rng, ROOMS * ROOMS));
        if (cell < 0) continue;
        env->tiles[cell] = TILE_COIN;
        env->placed += 1;
    }
}

//-- Functions: init, c_close, then the two that matter -----------------------------------
// Runs once, when the settings are known. The shared arrays are not bound yet
void init(Dungeon* env) {
    env->tiles = (unsigned char*)calloc(SIZE * SIZE, 1);
    env->memory = (unsigned char*)calloc(SIZE * SIZE, 1);
    if (env->locks > COLOURS) env->locks = COLOURS;
    if (env->torch < 1) env->torch = 1;
}

// Runs last. Free what init allocated, and nothing else
void c_close(Dungeon* env) {
    free(env->tiles);
    free(env->memory);
}

// Begin an episode in a new dungeon, all of it dark but for what the hero sees at once
void c_reset(Dungeon* env) {
    build(env);
    memset(env->memory, TILE_UNKNOWN, (size_t)(SIZE * SIZE));
    memset(env->keys, 0, sizeof(env->keys));
    env->taken = env->tick = 0;
    env->episode_return = 0.0f;
    look(env);
    observe(env);
}

// What lies where the hero stepped, and what it is worth
static inline float enter(Dungeon* env) {
    unsigned char* tile = &env->tiles[env->row * SIZE + env->col];
    float reward = 0.0f;
    if (*tile < TILE_FLOOR) {
        env->keys[*tile - TILE_DOOR] = false;       // it breaks in the lock
        reward = env->reward_door;
    } else if (*tile >= TILE_KEY && *tile < TILE_EXIT) {
        env->keys[*tile - TILE_KEY] = true;
        reward = env->reward_key;
    } else if (*tile == TILE_COIN) {
        env->taken += 1;
        reward = env->reward_coin;
    }
    if (*tile != TILE_EXIT) *tile = TILE_FLOOR;
    return reward;
}

// Advance one tick: step, take, look, end or go on
void c_step(Dungeon* env) {
    int action = (int)env->actions[0];
    int row = env->row + (action == ACT_DOWN) - (action == ACT_UP);
    int col = env->col + (action == ACT_RIGHT) - (action == ACT_LEFT);
    float reward = 0.0f;
    if (can_enter(env, row, col)) {
        env->row = row;
        env->col = col;
        reward += enter(env);
    }
    reward += env->reward_seen * (float)look(env);
    env->tick += 1;

    // The torch is part of the game and is seen burning down: a terminal, no truncation
    bool out = env->tiles[env->row * SIZE + env->col] == TILE_EXIT;
    bool dark = !out && env->tick >= env->torch;
    reward += out ? env->reward_exit : dark ? env->reward_dark : 0.0f;
    env->episode_return += reward;
    env->rewards[0] = reward;
    env->terminals[0] = out || dark ? 1.0f : 0.0f;
    if (!out && !dark) {
        observe(env);
        return;
    }

    env->log.perf += out ? 1.0f : 0.0f;
    env->log.score += env->placed > 0 ? (float)env->taken / (float)env->placed : 0.0f;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);               // the next observation opens the next episode
}

//-- Drawing: reads the state and never changes it, so a recording is true ---------------
#ifndef PUFFER_DEVICE
void c_render(Dungeon* env) {
    const Color inks[TILE_COUNT] = {
        {16, 24, 32, 255}, {90, 110, 125, 255}, {150, 40, 50, 255}, {40, 80, 160, 255},
        {50, 130, 60, 255}, {44, 58, 70, 255}, {0, 205, 190, 255}, {255, 190, 60, 255},
        {235, 70, 80, 255}, {90, 150, 255, 255}, {110, 215, 110, 255}, {245, 245, 245, 255}};
    const int hud = 44, side = 40;
    if (!IsWindowReady()) {
        InitWindow(SIZE * side, SIZE * side + hud, "dungeon");
        SetTargetFPS(8);
    }
    BeginDrawing();
    ClearBackground(inks[TILE_UNKNOWN]);
    for (int cell = 0; cell < SIZE * SIZE; cell++) {
        int x = cell % SIZE * side, y = hud + cell / SIZE * side, tile = env->memory[cell];
        bool small = tile > TILE_FLOOR;             // a thing on the floor
        DrawRectangle(x, y, side - 1, side - 1, inks[small ? TILE_FLOOR : tile]);
        if (small) DrawCircle(x + side / 2, y + side / 2, 8.0f, inks[tile]);
    }
    DrawCircle(env->col * side + side / 2, hud + env->row * side + side / 2, 14.0f,
               inks[TILE_HERO]);
    DrawRectangle(0, hud - 4, SIZE * side * (env->torch - env->tick) / env->torch, 4,
                  inks[TILE_COIN]);
    DrawText(TextFormat("coins %d of %d, keys %d %d %d", env->taken, env->placed, env->keys[0],
                        env->keys[1], env->keys[2]), 12, 10, 20, RAYWHITE);
    EndDrawing();
}
#endif
