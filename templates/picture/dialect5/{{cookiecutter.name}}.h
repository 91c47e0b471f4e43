/* {{ cookiecutter.name }}.h -- a boat looks for a wreck by sonar.  One agent, which sees only the screen.
 *
 *      ==============                  how much air is left
 *          x   x                       the boat, always in the middle: all else moves past it
 *            x           o o o     o   the wreck, a ring: the dive is won when the boat is
 *          x   x       o       o       there, +1
 *                  #   o       o   x   a mine, a cross: the dive is lost, -1. Mines drift
 *          x   x         o o o         to the right
 *            x
 *          x   x                       Out of air: 0. The sea has no edge: what leaves the
 *                                      screen on one side comes back on the other
 *
 * Mines and wrecks are equally large, and as bright as chance will have it: the shape tells them
 * apart, wherever they are. Convolutions learn that; the comment at OBS_SIZE asks for them.
 *
 * It has the form of PufferLib 5.0: this header and {{ cookiecutter.name }}.ini are all of it, here and there.
 * Read top to bottom: what the agent sees and does, the rules, the state, the picture, then
 * puf_reset and puf_step. Whatever you change, `puffer-sdk check` tells you what it broke.
 */
#pragma once

#include <stdbool.h>            // bool
#include <stdint.h>             // uint64_t
#include <string.h>             // memset
#include "raylib.h"
typedef unsigned char obs_t;    // what observations are made of; the next line needs it
#include "pufferenv.h"          // Agent, Dict; puffer-sdk has one, and PufferLib its own

//-- Interface: what the agent sees and does --------------------------------------
#define SIDE 48                 // pixels; all lengths are in pixels, y downward
#define OBS_SIZE (SIDE * SIDE)  // image SIDE x SIDE x 1: the screen, black to white

enum { ACT_STAY, ACT_LEFT, ACT_RIGHT, ACT_UP, ACT_DOWN, ACT_COUNT };      // pick one
#define NUM_ATNS 1              // actions that an agent takes in a step
#define ACT_SIZES {ACT_COUNT}   // the choices of each

//-- Rules ------------------------------------------------------------------------
// Of 100 dives at random 4 find the wreck and 58 end at a mine; of those that go straight to it,
// 77 and 23; if they also keep away from mines, 94 and 4 (tests/test_{{ cookiecutter.name }}.py measures it again)
#define STEP   2                // of the boat, in a tick
#define DRIFT  2                // ticks in which a mine moves by a pixel
#define REACH  6                // two things that are nearer than this touch
#define CLEAR  14               // nothing is nearer than this to a boat that begins
#define SHAPE  7                // height and width of all things

// What is in the sea, in one array: mines, then the wreck
enum { MINES = 4, WRECK = MINES, ALL };

// Row after row; a # is a pixel
#define MINE_LOOK  "#.....#" ".#...#." "..#.#.." "...#..." "..#.#.." ".#...#." "#.....#"
#define WRECK_LOOK "..###.." ".#...#." "#.....#" "#.....#" "#.....#" ".#...#." "..###.."
#define BOAT_LOOK  "......." "......." "..###.." "..###.." "..###.." "......." "......."

//-- State: one dive --------------------------------------------------------------
struct Log {                    // floats: sums over finished dives, divided by n when reported
    float perf;                 // [0, 1]  share of dives that were won: the headline number
    float score;                // [-1, 1] 1 at the wreck, -1 at a mine, 0 out of air
    float episode_return;       // the same: every reward but the last one is 0
    float episode_length;       // ticks
    float n;                    // dives summed here; must stay the last field
};

typedef struct Thing { int x, y; unsigned char shade; } Thing;     // x, y: its middle

struct Env {
    // Shared with the trainer, which owns what agents point at: fill it, never free it
    Log log;
    Agent agents[1];                // ->observations  out [OBS_SIZE]
                                    // ->actions       in  [1]  an ACT_ value, stored as a float
                                    // ->rewards       out [1]
                                    // ->terminals     out [1]  1 on the step that ended a dive
    int num_agents;                 // 1: puf_init sets it
    int tag;                        // of PufferLib's trainer
    int boundary_reached;           // the same
    unsigned int rng;               // this copy's seed, then its generator state
    int air;                        // from [env] in {{ cookiecutter.name }}.ini: ticks of a dive

    Thing things[ALL];              // from here on private to this file: puf_reset sets all of it
    int tick;                       // steps of this dive
};

// Uniform in [0, count). The state lives in the env, not in rand(), so that a dive depends
// only on its seed and copies can step on any thread
static inline int random_below(Env* env, int count) {
    unsigned int bits = (env->rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (int)(((uint64_t)bits * (uint64_t)count) >> 32);
}

// The boat is always in the middle
static inline bool near_boat(const Thing* thing, int distance) {
    int dx = thing->x - SIDE / 2, dy = thing->y - SIDE / 2;
    return dx * dx + dy * dy < distance * distance;
}

//-- The picture ------------------------------------------------------------------
static inline void paint(Env* env, Thing thing, const char* look) {
    for (int cell = 0; cell < SHAPE * SHAPE; cell++) {
        int x = (thing.x + cell % SHAPE - SHAPE / 2 + SIDE) % SIDE;
        int y = (thing.y + cell / SHAPE - SHAPE / 2 + SIDE) % SIDE;
        if (look[cell] == '#') env->agents[0].observations[y * SIDE + x] = thing.shade;
    }
}

// Paints all of it: nobody clears observations between steps. What comes later covers
static inline void observe(Env* env) {
    const Thing boat = {SIDE / 2, SIDE / 2, 255};
    obs_t* screen = env->agents[0].observations;
    memset(screen, 0, OBS_SIZE);
    for (int t = 0; t < MINES; t++) paint(env, env->things[t], MINE_LOOK);
    paint(env, env->things[WRECK], WRECK_LOOK);
    paint(env, boat, BOAT_LOOK);
    for (int x = 0; x < SIDE; x++) {        // the bar of air
        screen[x] = x * env->air < SIDE * (env->air - env->tick) ? 80 : 0;
    }
}

//-- Functions: puf_init, puf_close, puf_log, then the two that matter ------------
// Runs once, with the keys of [env]. The agent's arrays are not bound yet
void puf_init(Env* env, Dict* kwargs) {
    env->air = (int)dict_get(kwargs, "air");
    env->num_agents = 1;
    env->agents[0].policy = 0;              // the policy that learns
    env->agents[0].action_mask = NULL;      // every action is always legal
}

// Runs last. Free what this file allocated: nothing
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

// Things lie anywhere but around the boat
void puf_reset(Env* env) {
    for (int t = 0; t < ALL; t++) {
        Thing* thing = &env->things[t];
        do {
            thing->x = random_below(env, SIDE);
            thing->y = random_below(env, SIDE);
        } while (near_boat(thing, CLEAR));
        thing->shade = (unsigned char)(110 + random_below(env, 100));
    }
    env->tick = 0;
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

// Advance one tick: all else moves past the boat, mines drift, then the dive ends or goes on
void puf_step(Env* env) {
#ifdef PUFFERCPU_EVAL_MAIN      // PufferLib's player, which leaves the keys to its environments
    if (IsKeyDown(KEY_LEFT_SHIFT)) c_keys(env);
#endif
    Agent* agent = &env->agents[0];
    const int ways[ACT_COUNT][2] = { {0, 0}, {-STEP, 0}, {STEP, 0}, {0, -STEP}, {0, STEP} };
    const int* way = ways[(int)agent->actions[0]];
    bool lost = false;
    env->tick += 1;
    for (int t = 0; t < ALL; t++) {
        Thing* thing = &env->things[t];
        int drift = t < MINES && env->tick % DRIFT == 0 ? 1 : 0;
        thing->x = (thing->x - way[0] + drift + SIDE) % SIDE;
        thing->y = (thing->y - way[1] + SIDE) % SIDE;
        lost = lost || (t < MINES && near_boat(thing, REACH));
    }
    bool won = !lost && near_boat(&env->things[WRECK], REACH);
    bool done = won || lost || env->tick >= env->air;

    // Write both on every step: the arrays may hold anything
    float reward = won ? 1.0f : lost ? -1.0f : 0.0f;
    agent->rewards[0] = reward;
    agent->terminals[0] = done ? 1.0f : 0.0f;
    if (!done) {
        observe(env);
        return;
    }
    env->log.perf += won ? 1.0f : 0.0f;
    env->log.score += reward;
    env->log.episode_return += reward;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    puf_reset(env);           // the next observation opens the next dive
}

//-- Drawing: the observation itself, so a player sees what the agent sees ----------
#define PUF_STEPS_PER_SEC 12    // the speed of play

void puf_render(Env* env) {
    const int scale = 10;
    const Color night = {8, 16, 26, 255}, amber = {255, 190, 60, 255}, teal = {0, 235, 205, 255};
    if (!IsWindowReady()) {
        InitWindow(SIDE * scale, SIDE * scale, "{{ cookiecutter.name }}");
        SetTargetFPS(60);
    }
    BeginDrawing();
    ClearBackground(night);
    for (int cell = 0; cell < OBS_SIZE; cell++) {
        int x = cell % SIDE * scale, y = cell / SIDE * scale;
        int shade = env->agents[0].observations[cell];
        Color color = shade == 255 ? amber : Fade(teal, (float)shade / 210.0f);
        DrawRectangle(x, y, scale, scale, color);
    }
    EndDrawing();
    puf_web_vsync();            // in a web page of PufferLib: waits for the screen
}
