/* {{ cookiecutter.name }}.h -- cells in a pond eat, divide and are hunted.  Agents that are born and die.
 *
 *      *       o         *      o   a cell: an agent. Its life is won when it has eaten three
 *         o       X             *   plants and divides: +1; lost when a hunter
 *    *        *      o   *      X   catches it: -1; timed out when it gets too old: 0
 *
 * Read top to bottom: what a cell sees and does, the rules, the state, then c_reset
 * and c_step. Whatever you change, `puffer-sdk check` tells you what it broke.
 */
#pragma once

#include <math.h>               // fminf, hypotf, remainderf
#include <string.h>             // memset, memcpy
#include "raylib.h"             // drawing, and bool

//-- Interface: what a cell sees and does -----------------------------------------
enum {
    OBS_MEALS,                      // [0, 1]  at 1 it divides
    OBS_AGE,                        // [0, 1]  at 1 it is too old
    OBS_NEAR,                       // list 8 x 4, mask 0: there, kind, dx / SIGHT, dy / SIGHT
    OBS_COUNT = OBS_NEAR + 8 * 4    // what is not there is 0
};
#define OBS_SIZE OBS_COUNT
#define ACT_SIZES {3, 3}        // along x and along y: a step back, none, a step on

//-- Rules ------------------------------------------------------------------------
// Of 100 lives at random 25 are won and 40 lost; of those that go to the nearest plant, 75 and 21;
// if they also flee hunters, 91 and 2 (tests/test_{{ cookiecutter.name }}.py measures it again)
#define SIZE    512             // pixels along a side, a power of 2; opposite sides are one
#define SIGHT   140.0f
#define REACH   20.0f           // how near a cell eats, and is caught
#define STEP    6               // of a cell in a tick, along each axis
#define PULL    2               // step of a hunter towards each cell that it sees
#define MEALS   3               // until a cell divides
#define LIFE    200             // ticks in which to find them

// All that is in a pond, in one array: the cell of each row, then plants, then hunters
enum { CELLS = 16, PLANTS = 24, HUNTERS = 2, HUNTER = CELLS + PLANTS, ALL = HUNTER + HUNTERS };

//-- State: one pond --------------------------------------------------------------
typedef struct Log {            // sums over lives that ended, divided by n when reported
    float perf;                 // [0, 1]  share of lives that were won: the headline number
    float episode_return;       // [-1, 1] all rewards of a life but its last are 0
    float episode_length;       // ticks from birth
    float crowd;                // of the pond: how many cells lived when a life ended
    float n;                    // lives summed here; must stay the last field
} Log;

// Ages count ticks since a cell's birth, since a plant was eaten, since a hunter's catch
typedef struct Thing { int x, y, age, meals; } Thing;

typedef struct {{ cookiecutter.__struct }} {
    // Shared with the trainer, which owns the arrays: fill them, never free them
    Log log;
    float* observations;        // out (CELLS, OBS_SIZE)
    float* actions;             // in  (CELLS, 2)
    float* rewards;             // out (CELLS)
    float* terminals;           // out (CELLS)  1 on the step that ended a life
    unsigned char* alive;       // out (CELLS)  1 where a cell lives: nobody looks at other rows
    int num_agents, max_agents; // rows in use, and all: CELLS
    unsigned int rng;           // this pond's seed, then its generator state
    int recover;                // from [env]: ticks until a plant is back, a hunter hungry again
    Thing things[ALL];          // from here on private to this file: c_reset sets all of it
    int living;                 // cells
} {{ cookiecutter.__struct }};

// Somewhere. The generator's state lives in the env, not in rand(), so that a pond depends only
// on its seed and copies can step on any thread
static inline void place({{ cookiecutter.__struct }}* env, int t, int age) {
    unsigned int bits = (env->rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    Thing thing = {(int)(bits >> 8) % SIZE, (int)(bits >> 20) % SIZE, age, 0};
    env->things[t] = thing;
}

static inline void move(Thing* thing, int dx, int dy) {
    thing->x = (thing->x + dx) & (SIZE - 1);
    thing->y = (thing->y + dy) & (SIZE - 1);
}

static inline void observe({{ cookiecutter.__struct }}* env, int row) {
    const Thing* cell = &env->things[row];
    float* obs = env->observations + row * OBS_SIZE;
    float* seen = obs + OBS_NEAR;
    memset(obs, 0, OBS_SIZE * sizeof(float));
    obs[OBS_MEALS] = (float)cell->meals / MEALS;
    obs[OBS_AGE] = (float)cell->age / LIFE;
    for (int t = ALL - 1; t >= 0 && seen < obs + OBS_COUNT; t--) {      // hunters first
        float dx = remainderf((float)(env->things[t].x - cell->x), SIZE) / SIGHT;
        float dy = remainderf((float)(env->things[t].y - cell->y), SIZE) / SIGHT;
        bool there = t < CELLS ? env->alive[t] : env->things[t].age >= env->recover;
        if (t == row || !there || hypotf(dx, dy) > 1.0f) continue;
        float entry[4] = {1.0f, t < CELLS ? 0.0f : t < HUNTER ? 1.0f : -1.0f, dx, dy};
        memcpy(seen, entry, sizeof(entry));
        seen += 4;
    }
}

//-- Functions: init, c_close, then the two that matter ---------------------------
void init({{ cookiecutter.__struct }}* env) { env->num_agents = env->max_agents = CELLS; }

void c_close({{ cookiecutter.__struct }}* env) { (void)env; }

// A pond begins once and never ends; its first cells are of many ages
void c_reset({{ cookiecutter.__struct }}* env) {
    for (int t = 0; t < ALL; t++) place(env, t, LIFE * t / ALL);
    memset(env->alive, 1, CELLS);
    env->living = CELLS;
    for (int row = 0; row < CELLS; row++) observe(env, row);
}

// Advance one tick: each cell moves, eats or is caught, then its life ends or goes on
void c_step({{ cookiecutter.__struct }}* env) {
    int born = env->living < CELLS / 2 ? 1 : 0;     // of few, one a tick comes from elsewhere
    for (int t = 0; t < ALL; t++) env->things[t].age += 1;
    for (int row = 0; row < CELLS; row++) {
        if (!env->alive[row]) continue;
        Thing* cell = &env->things[row];
        const float* action = &env->actions[2 * row];
        move(cell, STEP * ((int)action[0] - 1), STEP * ((int)action[1] - 1));
        bool caught = false;
        for (int t = CELLS; t < ALL; t++) {
            Thing* other = &env->things[t];
            float dx = remainderf((float)(cell->x - other->x), SIZE);
            float dy = remainderf((float)(cell->y - other->y), SIZE), far = hypotf(dx, dy);
            if (other->age < env->recover || far > SIGHT) continue;
            if (t >= HUNTER) move(other, dx > 0.0f ? PULL : -PULL, dy > 0.0f ? PULL : -PULL);
            if (far > REACH) continue;
            other->age = 0;
            if (t >= HUNTER) caught = true;
            else cell->meals += 1;
        }
        bool won = !caught && cell->meals >= MEALS, done = won || caught || cell->age >= LIFE;
        float reward = won ? 1.0f : caught ? -1.0f : 0.0f;
        env->rewards[row] = reward;
        env->terminals[row] = done ? 1.0f : 0.0f;
        if (!done) continue;
        env->alive[row] = 0;                    // its last step still counts
        born += won ? 2 : 0;
        env->log.perf += won ? 1.0f : 0.0f;
        env->log.episode_return += reward;
        env->log.episode_length += (float)cell->age;
        env->log.crowd += (float)env->living--;
        env->log.n += 1.0f;
    }
    int first = (int)(env->rng % CELLS);
    for (int i = 0; i < CELLS; i++) {
        int row = (first + i) % CELLS;
        if (!env->alive[row] && born > 0) {     // any free row begins another life
            place(env, row, 0);
            env->alive[row] = 1;
            env->living += 1;
            born -= 1;
        }
        observe(env, row);
    }
}

//-- Drawing: reads the state and never changes it, so a recording is true --------
void c_render({{ cookiecutter.__struct }}* env) {
    const Color night = {16, 24, 32, 255}, teal = {0, 205, 190, 255};
    if (!IsWindowReady()) InitWindow(SIZE, SIZE, "{{ cookiecutter.name }}");
    SetTargetFPS(20);
    BeginDrawing();
    ClearBackground(night);
    for (int t = 0; t < ALL; t++) {
        const Thing* thing = &env->things[t];
        Vector2 at = {(float)thing->x, (float)thing->y};
        float whole = fminf(1.0f, (float)thing->age / (float)env->recover);
        if (t >= HUNTER) DrawCircleSector(at, 20, 40 * whole, 360 - 40 * whole, 24, RED);
        else if (t >= CELLS) DrawCircleV(at, 8.0f * whole, LIME);
        else if (env->alive[t]) {
            DrawCircleV(at, 11.0f + 3.0f * (float)thing->meals, Fade(t == 0 ? GOLD : teal, 0.5f));
            DrawCircleV(at, 4.0f, RAYWHITE);
        }
    }
    DrawText(TextFormat("%d cells", env->living), 12, 10, 20, RAYWHITE);
    EndDrawing();
}
