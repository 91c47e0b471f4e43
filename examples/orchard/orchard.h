/* orchard.h -- catch the apples, let the stones fall.  One agent, which sees only the screen.
 *
 *      +------------------------------+
 *      |   ~~~~~          O           |     O    an apple: worth 1 in the basket
 *      |                       ~~~~~  |     X    a stone: costs 1 there
 *      |       X     ~~~~~            |     ~~~  leaves, which drift with the wind
 *      |                         O    |
 *      |  ~~~~~        X              |     Apples and stones are equally large, and as bright
 *      |          [_____]             |     as chance will have it: the shape tells them apart
 *      +------------------------------+
 *
 * 24 things fall, one after another, at three speeds; an episode ends when the last one is
 * caught or gone. A perfect game catches all apples and no stone, which is not always possible:
 * two may come down at once, far from each other.
 *
 * The observation is the picture itself, 64 x 64 bytes. A thing looks the same wherever it is,
 * so convolutions learn a shape once, and a flat network in every place anew:
 * docs/guides/encoders.md compares them.
 *
 * Read top to bottom: what the agent sees and does, the rules, the state, the picture, then
 * c_reset and c_step. Whatever you change, `puffer-sdk check` tells you what it broke.
 *
 * Units: length in pixels, y downward; time in ticks, a step each.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>             // uint64_t
#include <string.h>             // memset
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what the agent sees and does --------------------------------------
#define SIDE 64
#define OBS_SIZE (SIDE * SIDE)  // image SIDE x SIDE x 1: the screen, black to white

enum {                          // actions, pick one
    ACT_STAY,
    ACT_LEFT,
    ACT_RIGHT,
    ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT}

//-- Rules ------------------------------------------------------------------------
// Measured: acting at random catches 4.5 apples and as many stones, staying put 3.1 of each
// (measured again by tests/test_examples_orchard.py, which fails if they are wrong)
#define DROPS     24            // things in an episode
#define DROP_GAP  18            // ticks from one to the next
#define MAX_THINGS 4            // in the air at a time: the slowest falls for 71 ticks
#define SLOWEST   2             // half pixels a tick
#define SPEEDS    3
#define BASKET    11            // its width
#define BASKET_Y  59            // its top
#define BASKET_HEIGHT 3
#define BASKET_STEP 3           // a tick
#define LEAVES    6
#define LEAF_WIDTH 9
#define LEAF_HEIGHT 3
#define LEAVES_BOTTOM 54        // none is at the basket's height
#define SHAPE     7             // things are as high and as wide

static const char APPLE[SHAPE][SHAPE + 1] = {    // a # is a pixel; both have 16
    "..###..", ".#...#.", "#.....#", "#.....#", "#.....#", ".#...#.", "..###.."};
static const char STONE[SHAPE][SHAPE + 1] = {
    "#..#..#", ".#...#.", "..#.#..", "#.....#", "..#.#..", ".#...#.", "#..#..#"};

//-- State: one copy of the game --------------------------------------------------
typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  score over the apples that fell: the headline number
    float score;                // apples caught, minus stones caught
    float apples;               // [0, DROPS] caught
    float stones;               // [0, DROPS] caught
    float episode_return;       // the score
    float episode_length;       // ticks
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct Thing {
    bool there;
    bool is_apple;
    int x, y;                   // left, in pixels; top, in half pixels
    int speed;                  // half pixels a tick
    unsigned char shade;
} Thing;

typedef struct Leaf {
    int x, y;
    unsigned char shade;
} Leaf;

typedef struct Orchard {
    // Shared with the trainer, which owns the arrays: fill them, never free them
    Log log;
    unsigned char* observations;    // out [OBS_SIZE]
    float* actions;             // in  [1]  an ACT_ value, stored as a float
    float* rewards;             // out [1]
    float* terminals;           // out [1]  1 on the step that ended an episode, else 0
    int num_agents;             // rows of those arrays that are ours; set before init
    unsigned int rng;           // this copy's seed, then its generator state

    // Private to this file. c_reset sets all of it: what it forgot would carry one episode
    // into the next
    Thing things[MAX_THINGS];
    Leaf leaves[LEAVES];
    int basket;                 // its left end
    int dropped;                // things so far,
    int fallen_apples;          // and the apples among them
    int apples, stones;         // caught
    int tick;                   // steps of this episode
} Orchard;

// Uniform below the limit. The state lives in the env, not in rand(), so that an episode
// depends only on its seed and copies can step on any thread. Seed 0 is as good as any: the
// counter walks through all 2^32 states, the mixing makes neighbours look unrelated
static inline int random_below(unsigned int* rng, int limit) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (int)(((uint64_t)bits * (uint64_t)limit) >> 32);
}

//-- The picture --------------------------------------------------------------------
static inline void paint(Orchard* env, int x, int y, unsigned char shade) {
    if (x >= 0 && x < SIDE && y >= 0 && y < SIDE) {     // a thing enters from above
        env->observations[y * SIDE + x] = shade;
    }
}

// Paints all of it anew: nobody clears observations between steps. What comes later covers
static inline void observe(Orchard* env) {
    memset(env->observations, 0, OBS_SIZE);
    for (int i = 0; i < LEAVES; i++) {
        const Leaf* leaf = &env->leaves[i];
        for (int row = 0; row < LEAF_HEIGHT; row++) {
            for (int col = 0; col < LEAF_WIDTH; col++) {    // comes back on the other side
                paint(env, (leaf->x + col) % SIDE, leaf->y + row, leaf->shade);
            }
        }
    }
    for (int i = 0; i < MAX_THINGS; i++) {
        const Thing* thing = &env->things[i];
        for (int cell = 0; cell < SHAPE * SHAPE && thing->there; cell++) {
            int row = cell / SHAPE, col = cell % SHAPE;
            if ((thing->is_apple ? APPLE : STONE)[row][col] == '#') {
                paint(env, thing->x + col, thing->y / 2 + row, thing->shade);
            }
        }
    }
    for (int row = 0; row < BASKET_HEIGHT; row++) {
        for (int col = 0; col < BASKET; col++) {
            paint(env, env->basket + col, BASKET_Y + row, 255);
        }
    }
}

//-- What happens in a tick -----------------------------------------------------------
static inline void drop(Orchard* env) {
    for (int i = 0; i < MAX_THINGS; i++) {
        Thing* thing = &env->things[i];
        if (thing->there) {
            continue;
        }
        thing->there = true;
        thing->is_apple = random_below(&env->rng, 2) == 0;
        thing->x = random_below(&env->rng, SIDE - SHAPE + 1);
        thing->y = -2 * SHAPE;          // just above the screen
        thing->speed = SLOWEST + random_below(&env->rng, SPEEDS);
        thing->shade = (unsigned char)(130 + random_below(&env->rng, 100));
        env->fallen_apples += thing->is_apple;
        env->dropped += 1;
        return;
    }
}

// Returns the reward. A thing is caught if it touches the basket well within its ends
static inline float fall(Orchard* env, Thing* thing) {
    thing->y += thing->speed;
    bool low = thing->y / 2 + SHAPE >= BASKET_Y;
    if (low && thing->x + SHAPE > env->basket + 1 && thing->x < env->basket + BASKET - 1) {
        thing->there = false;
        env->apples += thing->is_apple;
        env->stones += !thing->is_apple;
        return thing->is_apple ? 1.0f : -1.0f;
    }
    thing->there = thing->y / 2 < SIDE;
    return 0.0f;
}

static inline void log_episode(Orchard* env) {
    float score = (float)(env->apples - env->stones);
    float best = env->fallen_apples > 0 ? (float)env->fallen_apples : 1.0f;
    env->log.perf += score > 0.0f ? score / best : 0.0f;
    env->log.score += score;
    env->log.apples += (float)env->apples;
    env->log.stones += (float)env->stones;
    env->log.episode_return += score;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
}

//-- Functions ------------------------------------------------------------------------
static inline void c_reset(Orchard* env) {
    memset(env->things, 0, sizeof env->things);
    for (int i = 0; i < LEAVES; i++) {
        env->leaves[i].x = random_below(&env->rng, SIDE);
        env->leaves[i].y = random_below(&env->rng, LEAVES_BOTTOM - LEAF_HEIGHT);
        env->leaves[i].shade = (unsigned char)(30 + random_below(&env->rng, 90));
    }
    env->basket = (SIDE - BASKET) / 2;
    env->dropped = env->fallen_apples = env->apples = env->stones = env->tick = 0;
    observe(env);
}

static inline void c_step(Orchard* env) {
    int action = (int)env->actions[0];
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;

    env->basket += action == ACT_RIGHT ? BASKET_STEP : action == ACT_LEFT ? -BASKET_STEP : 0;
    env->basket = env->basket < 0 ? 0
                  : env->basket > SIDE - BASKET ? SIDE - BASKET : env->basket;
    if (env->tick % DROP_GAP == 0 && env->dropped < DROPS) {
        drop(env);
    }
    for (int i = 0; i < LEAVES && env->tick % 2 == 0; i++) {
        env->leaves[i].x = (env->leaves[i].x + 1 + i % 2) % SIDE;      // the odd ones are faster
    }
    bool falling = false;
    for (int i = 0; i < MAX_THINGS; i++) {
        if (env->things[i].there) {
            env->rewards[0] += fall(env, &env->things[i]);
        }
        falling = falling || env->things[i].there;
    }
    env->tick += 1;

    if (env->dropped == DROPS && !falling) {
        env->terminals[0] = 1.0f;
        log_episode(env);
        c_reset(env);           // writes the first observation of the next episode
        return;
    }
    observe(env);
}

//-- Drawing: what a human sees. Training never calls it ------------------------------
#ifndef PUFFER_DEVICE
#define SCALE 9                 // screen pixels of a pixel

static inline void draw_pixels(int x, int y, int width, int height, Color color) {
    DrawRectangle(x * SCALE, y * SCALE, width * SCALE, height * SCALE, color);
}

static inline void c_render(Orchard* env) {
    const Color sky = {14, 24, 34, 255}, leaf = {38, 76, 58, 255}, wicker = {214, 170, 98, 255};
    const Color apple = {228, 72, 66, 255}, stone = {164, 172, 182, 255};
    if (!IsWindowReady()) {
        InitWindow(SIDE * SCALE, SIDE * SCALE, "puffer-sdk orchard");
        SetTargetFPS(30);
    }
    BeginDrawing();
    ClearBackground(sky);
    for (int i = 0; i < LEAVES; i++) {
        for (int col = 0; col < LEAF_WIDTH; col++) {
            draw_pixels((env->leaves[i].x + col) % SIDE, env->leaves[i].y, 1, LEAF_HEIGHT, leaf);
        }
    }
    for (int i = 0; i < MAX_THINGS; i++) {
        const Thing* thing = &env->things[i];
        for (int cell = 0; cell < SHAPE * SHAPE && thing->there; cell++) {
            int row = cell / SHAPE, col = cell % SHAPE;
            if ((thing->is_apple ? APPLE : STONE)[row][col] == '#') {
                draw_pixels(thing->x + col, thing->y / 2 + row, 1, 1,
                            thing->is_apple ? apple : stone);
            }
        }
    }
    draw_pixels(env->basket, BASKET_Y, BASKET, BASKET_HEIGHT, wicker);
    DrawText(TextFormat("%d", env->apples - env->stones), 2 * SCALE, 2 * SCALE, 4 * SCALE, WHITE);
    EndDrawing();
}
#endif

void c_close(Orchard* env) {    // closes the window, too, where there is one
    (void)env;
#ifndef PUFFER_DEVICE
    if (IsWindowReady()) {
        CloseWindow();
    }
#endif
}
