/* snake.h -- many snakes in one world look for food and get in each other's way.
 * Many agents, one action each.
 *
 *      # # # # # # # # # # # #       #  wall, as thick as a snake sees far: what it sees
 *      # # # # # # # # # # # #          never leaves the world
 *      # #     o o O   *   # #       O  a head, followed by its body o
 *      # #     o         o # #       *  food: the snake grows by a tile
 *      # # *   o     +   O # #       +  corpse: what is left of every other tile of a dead
 *      # #         +     * # #          snake, and as good as food
 *      # # # # # # # # # # # #
 *      # # # # # # # # # # # #       drawn at vision 2; the settings are in snake.ini
 *
 * A snake goes one tile a tick, for ever, and dies of walls and of snakes, itself included.
 * It comes back at once, one tile long, somewhere else: nobody waits for anybody. The rules
 * are PufferLib's; new are that a death is a terminal, and the order of the tiles' codes.
 *
 * The score is the length that a snake died with, and perf is its share of GOOD_LENGTH, as
 * in PufferLib. It counts as solved from 60 on. Measured in the world of snake.ini, over the
 * deaths in ticks 600 to 1200: acting at random 4.0, straight up for ever 5.4, greedily to the
 * nearest food in view 46, and the same with an eye on dead ends 68
 * (measured again by tests/test_examples_control.py, which fails if it is wrong)
 *
 * Units: length in tiles, time in ticks. A cell is row * width + column; rows count downward,
 * as bytes and pixels do.
 */
#pragma once

#include <math.h>               // fminf
#include <stdbool.h>
#include <stdint.h>             // uint64_t
#include <stdlib.h>             // calloc, free
#include <string.h>             // memset, memcpy
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what a snake sees and does ----------------------------------------
// grid (2 * env->vision + 1) x (2 * env->vision + 1) of 5 ids: the tiles around its head, which
// is the one in the middle. All snakes look alike, its own body too
#define OBS_SIZE ((2 * env->vision + 1) * (2 * env->vision + 1))

enum {                          // what a byte means, from deadly to good: one weight reads
    TILE_WALL,                  // that order, where a network would have to learn the meaning
    TILE_SNAKE,                 // of each code if they came in any other
    TILE_EMPTY,
    TILE_CORPSE,
    TILE_FOOD,
};

enum {                          // actions, pick one. Back into its own neck a snake cannot
    ACT_UP,                     // turn: then it goes straight on
    ACT_DOWN,
    ACT_LEFT,
    ACT_RIGHT,
    ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT}

//-- Rules ------------------------------------------------------------------------
#define GOOD_LENGTH  120        // tiles at which perf is 1
#define TRIES        32         // at a free cell by chance, before looking at one by one

//-- State: one world and its snakes ----------------------------------------------
typedef struct Log {            // sums over snakes that died, divided by n when reported
    float perf;                 // [0, 1]  score / GOOD_LENGTH, at most 1: the headline number
    float score;                // tiles, when it died
    float episode_return;       // what the trainer maximises
    float episode_length;       // ticks that it lived
    float n;                    // deaths summed here; must stay the last field
} Log;

typedef struct Body {
    int* cells;                 // (max_snake_length)  a ring; the head is the newest
    int head;                   // index into cells
    int length;                 // tiles; 0: there was no room, it waits for some
    int tick;                   // steps of this life
    float episode_return;       // of this life
} Body;

typedef struct Snake {
    // Shared with the trainer, which owns the arrays: fill them, never free them.
    // N = num_agents; an agent's row is the one of its index
    Log log;
    unsigned char* observations;    // out (N, OBS_SIZE)  a TILE_ value each
    float* actions;                 // in  (N)  an ACT_ value, stored as a float
    float* rewards;                 // out (N)
    float* terminals;               // out (N)  1 on the step in which a snake died, else 0
    unsigned int rng;               // this world's seed, then its generator state

    // Settings, from [env] in snake.ini: matched by name, set before init
    int num_agents;                 // snakes
    int width, height;              // the world, walls included
    int num_food;                   // pieces that lie about at all times, corpses aside
    int vision;                     // tiles that a snake sees each way
    int leave_corpse_on_death;      // 1: every other tile of it can be eaten; 0: none
    float reward_food;
    float reward_corpse;
    float reward_death;
    int max_snake_length;           // a snake this long goes on eating, but does not grow
    int cell_size;                  // pixels of a tile, for drawing

    // Private to this file. Settings aside, c_reset sets all of it: a field that it
    // forgets would carry one episode into the next
    unsigned char* grid;            // (height, width)          from init to c_close
    Body* bodies;                   // (N)                      from init to c_close
    int* cells;                     // (N, max_snake_length)    from init to c_close
    int food;                       // pieces that lie about
} Snake;

// Uniform in [0, count). The state lives in the env, not in rand(), so that an episode
// depends only on its seed and copies can step on any thread
static inline int random_below(unsigned int* rng, int count) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (int)(((uint64_t)bits * (uint64_t)count) >> 32);
}

// Walls are never thinner than 1, or blind snakes would leave the world
static inline int wall_width(const Snake* env) {
    return env->vision > 1 ? env->vision : 1;
}

static inline bool is_free(const Snake* env, int cell) {
    return env->grid[cell] == TILE_EMPTY || env->grid[cell] == TILE_CORPSE;
}

// Some cell without food, wall or snake; -1 if there is none. In a crowded world chance may
// miss the last one for ever, so after some tries it looks at all of them in turn
static int find_free(Snake* env) {
    const int cells = env->width * env->height, wall = wall_width(env);
    const int rows = env->height - 2 * wall, columns = env->width - 2 * wall;
    if (rows < 1 || columns < 1) {
        return -1;
    }
    int cell = 0;
    for (int i = 0; i < TRIES; i++) {
        cell = (wall + random_below(&env->rng, rows)) * env->width
             + wall + random_below(&env->rng, columns);
        if (is_free(env, cell)) {
            return cell;
        }
    }
    for (int i = 0; i < cells; i++) {
        cell = cell + 1 < cells ? cell + 1 : 0;
        if (is_free(env, cell)) {
            return cell;
        }
    }
    return -1;
}

static void place_food(Snake* env) {
    while (env->food < env->num_food) {
        int cell = find_free(env);
        if (cell < 0) {
            return;             // full: the next tick tries again
        }
        env->grid[cell] = TILE_FOOD;
        env->food += 1;
    }
}

static void place_snake(Snake* env, Body* body) {
    int cell = find_free(env);
    body->head = 0;
    body->length = cell < 0 ? 0 : 1;
    body->tick = 0;
    body->episode_return = 0.0f;
    if (cell >= 0) {
        body->cells[0] = cell;
        env->grid[cell] = TILE_SNAKE;
    }
}

// The cell of a tile of it, 0 being the head and length - 1 the tip of its tail
static inline int cell_of(const Snake* env, const Body* body, int tile) {
    int index = body->head - tile;
    return body->cells[index < 0 ? index + env->max_snake_length : index];
}

// What every snake sees: rows of the world, copied. Walls are thick enough for that to stay
// inside the world; one that waits for room has no place to look from, and sees walls
static void observe(Snake* env) {
    const int window = 2 * env->vision + 1, size = OBS_SIZE;
    for (int a = 0; a < env->num_agents; a++) {
        const Body* body = &env->bodies[a];
        unsigned char* out = env->observations + (size_t)a * (size_t)size;
        if (body->length == 0) {
            memset(out, TILE_WALL, (size_t)size);
            continue;
        }
        const unsigned char* in = env->grid + body->cells[body->head]
                                - env->vision * (env->width + 1);
        for (int row = 0; row < window; row++) {
            memcpy(out, in, (size_t)window);
            out += window;
            in += env->width;
        }
    }
}

//-- Functions: init, c_close, then the two that matter ---------------------------
// Runs once, when the settings are known. The shared arrays are not bound yet
void init(Snake* env) {
    if (env->max_snake_length < 1) env->max_snake_length = 1;   // a head
    size_t agents = (size_t)env->num_agents, longest = (size_t)env->max_snake_length;
    env->grid = (unsigned char*)calloc((size_t)env->width * (size_t)env->height, 1);
    env->bodies = (Body*)calloc(agents, sizeof(Body));
    env->cells = (int*)calloc(agents * longest, sizeof(int));
    for (size_t a = 0; a < agents; a++) {
        env->bodies[a].cells = env->cells + a * longest;
    }
}

// Runs last. Free what init allocated, and nothing else
void c_close(Snake* env) {
    free(env->grid);
    free(env->bodies);
    free(env->cells);
}

// Begin a world. Happens once: from then on single snakes die and come back
void c_reset(Snake* env) {
    const int wall = wall_width(env);
    memset(env->grid, TILE_WALL, (size_t)env->width * (size_t)env->height);
    for (int row = wall; row < env->height - wall; row++) {
        for (int column = wall; column < env->width - wall; column++) {
            env->grid[row * env->width + column] = TILE_EMPTY;
        }
    }
    for (int a = 0; a < env->num_agents; a++) {
        place_snake(env, &env->bodies[a]);
    }
    env->food = 0;
    place_food(env);
    observe(env);
}

// Its tiles become free or, every other one of them, counted from the tail, corpse
static void bury(Snake* env, const Body* body) {
    for (int tile = 0; tile < body->length; tile++) {
        bool corpse = env->leave_corpse_on_death && (body->length - tile) % 2 == 0;
        env->grid[cell_of(env, body, tile)] = corpse ? TILE_CORPSE : TILE_EMPTY;
    }
}

// One snake's tick. Returns its reward, and whether it died
static float move(Snake* env, Body* body, int action, bool* died) {
    int way = action == ACT_UP ? -env->width : action == ACT_DOWN ? env->width
            : action == ACT_LEFT ? -1 : 1;
    int head = body->cells[body->head];
    if (body->length > 1 && head + way == cell_of(env, body, 1)) {
        way = -way;             // it came from there: straight on
    }
    int next = head + way;
    unsigned char tile = env->grid[next];
    *died = tile < TILE_EMPTY;  // its own tail counts, although it is about to move on
    if (*died) {
        return env->reward_death;
    }

    bool eats = tile == TILE_FOOD || tile == TILE_CORPSE;
    if (eats && body->length < env->max_snake_length) {
        body->length += 1;
    } else {
        env->grid[cell_of(env, body, body->length - 1)] = TILE_EMPTY;
    }
    body->head = body->head + 1 < env->max_snake_length ? body->head + 1 : 0;
    body->cells[body->head] = next;
    env->grid[next] = TILE_SNAKE;
    env->food -= tile == TILE_FOOD;
    return tile == TILE_FOOD ? env->reward_food : eats ? env->reward_corpse : 0.0f;
}

// Advance one tick: the snakes move one after the other, in the order of their rows, so two
// heads never meet in one cell; what was eaten is laid out anew, and all of them look
void c_step(Snake* env) {
    for (int a = 0; a < env->num_agents; a++) {
        Body* body = &env->bodies[a];
        // Write both on every step, for every snake: the arrays may hold anything
        env->rewards[a] = 0.0f;
        env->terminals[a] = 0.0f;
        if (body->length == 0) {
            place_snake(env, body);
            continue;
        }

        bool died;
        float reward = move(env, body, (int)env->actions[a], &died);
        body->tick += 1;
        body->episode_return += reward;
        env->rewards[a] = reward;
        if (!died) {
            continue;
        }
        env->terminals[a] = 1.0f;
        env->log.perf += fminf((float)body->length / (float)GOOD_LENGTH, 1.0f);
        env->log.score += (float)body->length;
        env->log.episode_return += body->episode_return;
        env->log.episode_length += (float)body->tick;
        env->log.n += 1.0f;
        bury(env, body);
        place_snake(env, body);
    }
    place_food(env);
    observe(env);
}

//-- Drawing: reads the state and never changes it, so a recording is true --------
#ifndef PUFFER_DEVICE
// What snake 0 sees, enlarged: in a world of 640 tiles nobody else could tell
static inline void draw_view(const Snake* env, int left, int top, int size) {
    const Color red = {235, 70, 80, 255}, night = {16, 24, 32, 255}, floor_tile = {30, 44, 56, 255};
    const Color wall = {90, 110, 125, 255};
    const Color gold = {255, 190, 60, 255}, teal = {0, 205, 190, 255}, brown = {150, 105, 60, 255};
    const int window = 2 * env->vision + 1, tile = size / window > 1 ? size / window : 1;
    const int first = env->bodies[0].cells[env->bodies[0].head] - env->vision * (env->width + 1);
    DrawRectangle(left - 4, top - 4, window * tile + 7, window * tile + 7, red);
    DrawRectangle(left - 1, top - 1, window * tile + 1, window * tile + 1, night);
    for (int row = 0; row < window; row++) {
        for (int column = 0; column < window; column++) {
            unsigned char seen = env->grid[first + row * env->width + column];
            Color paint = seen == TILE_WALL ? wall : seen == TILE_SNAKE ? teal
                        : seen == TILE_CORPSE ? brown : seen == TILE_FOOD ? gold : floor_tile;
            bool head = row == env->vision && column == env->vision;
            DrawRectangle(left + column * tile, top + row * tile, tile - 1, tile - 1,
                          head ? RAYWHITE : paint);
        }
    }
}

void c_render(Snake* env) {
    const Color night = {16, 24, 32, 255}, wall = {62, 78, 92, 255}, brown = {150, 105, 60, 255};
    const Color gold = {255, 190, 60, 255}, red = {235, 70, 80, 255};
    const Color skins[4] = {{0, 205, 190, 255}, {90, 150, 255, 255}, {185, 130, 255, 255},
                            {110, 215, 110, 255}};
    const int hud = 44, tile = env->cell_size > 0 ? env->cell_size : 1;
    const int side = tile < 4 ? tile : tile - 1;        // a gap shows how a snake is coiled
    const int across = tile * env->width, down = tile * env->height, border = wall_width(env);
    if (!IsWindowReady()) {
        InitWindow(across, hud + down, "snake");
        SetTargetFPS(15);
    }

    BeginDrawing();
    ClearBackground(wall);
    DrawRectangle(0, 0, across, hud, night);
    DrawRectangle(border * tile, hud + border * tile, across - 2 * border * tile,
                  down - 2 * border * tile, night);
    for (int cell = 0; cell < env->width * env->height; cell++) {
        if (env->grid[cell] >= TILE_CORPSE) {
            DrawRectangle(cell % env->width * tile, hud + cell / env->width * tile, side, side,
                          env->grid[cell] == TILE_FOOD ? gold : brown);
        }
    }
    int longest = 0;
    for (int a = env->num_agents - 1; a >= 0; a--) {    // snake 0 last, on top
        const Body* body = &env->bodies[a];
        longest = body->length > longest ? body->length : longest;
        for (int i = body->length - 1; i >= 0; i--) {
            int cell = cell_of(env, body, i);
            DrawRectangle(cell % env->width * tile, hud + cell / env->width * tile, side, side,
                          i == 0 ? RAYWHITE : a == 0 ? red : skins[a % 4]);
        }
    }
    if (env->bodies[0].length > 0) {
        int cell = env->bodies[0].cells[env->bodies[0].head], window = 2 * env->vision + 1;
        DrawRectangleLines((cell % env->width - env->vision) * tile,
                           hud + (cell / env->width - env->vision) * tile, window * tile,
                           window * tile, red);         // where to find it
        if (tile < 8) {
            draw_view(env, 16, hud + down - 192, 176);
        }
    }
    DrawText(TextFormat("length %d", env->bodies[0].length), 12, 12, 20, red);
    DrawText(TextFormat("longest %d", longest), 150, 12, 20, RAYWHITE);
    DrawText(TextFormat("died at %.1f", env->log.n > 0.0f ? env->log.score / env->log.n : 0.0f),
             320, 12, 20, gold);
    EndDrawing();
}
#endif
