/* {{ cookiecutter.name }}.h -- a crowd chases goals on a field.  Many agents, two actions each.
 *
 *      +------------------------------------+
 *      |   (o)              a>              |     a>   an agent and its heading
 *      |          <a                        |     (o)  a goal: come within REACH of it
 *      |                    (o)      a>     |          for +1, and it jumps elsewhere
 *      |    a>                              |
 *      +------------------------------------+     walls stop; nobody ever dies
 *
 * All agents share one policy and see each other, so they can learn who goes where. It has the
 * form of PufferLib 5.0: this header and {{ cookiecutter.name }}.ini are all of it, here and there.
 *
 * Read top to bottom: what an agent sees and does, the rules, the state, then puf_reset
 * and puf_step. Whatever you change, `puffer-sdk check` tells you what it broke.
 *
 * Units: length in pixels, angles in radians, time in ticks, speed in pixels per tick.
 * Axes as on screen: x to the right, y down, so a growing heading turns clockwise.
 */
#pragma once

#include <math.h>               // cosf, sinf, fminf, fmaxf
#include "raylib.h"
typedef float obs_t;            // what observations are made of; the next line needs it
#include "pufferenv.h"          // Agent, Dict; puffer-sdk has one, and PufferLib its own

//-- Interface: what an agent sees and does ---------------------------------------
#define AGENTS   8              // on one field; the arrays below and OBS_SIZE follow
#define GOALS    4

// One row of floats per agent, in this order; offsets are from the agent itself
//     each goal                   dx / width, dy / height          [-1, 1]
//     each agent, itself too      dx / width, dy / height          [-1, 1]
//     heading / TURN [0, 1)   last reward   x / width   y / height [ 0, 1]
// A constant: PufferLib compiles it in
#define OBS_SIZE (2 * GOALS + 2 * AGENTS + 4)

#define TURNS    9              // head 0: heading += (action - 4) / TURN_STEPS; 4 is straight on
#define THRUSTS  5              // head 1: speed += action - 2;                  2 is coasting
#define NUM_ATNS 2              // actions that an agent takes in a step
#define ACT_SIZES {TURNS, THRUSTS}      // the choices of each
enum { HEAD_TURN, HEAD_THRUST };

//-- Rules ------------------------------------------------------------------------
// Measured with 8 agents and 4 goals over 1000 ticks, in goals per agent: doing nothing 0.2,
// acting at random 3.6, all steering at the nearest goal 21. But with agents that leave a
// goal to whoever is closer to it 56: seeing the others is worth more than steering well
// (measured again by tests/test_{{ cookiecutter.name }}.py, which fails if they are wrong)
#define TURN         6.2831853f // a full circle
#define TURN_STEPS   12.0f      // turning units in a radian: a full circle takes 19 ticks
#define MAX_SPEED    20.0f      // either way; ten ticks of full thrust
#define REACH        64.0f      // a goal this close is reached
#define IDLE_TICKS   512        // after so long without a goal, an agent starts elsewhere
#define PACE         100.0f     // ticks to a goal at which perf has sunk to 0

//-- State: one field, its agents and its goals -----------------------------------
// Nothing ever ends here, so an entry is one goal reached. That makes score 1 by
// definition; compare runs by goals per agent per 1000 ticks, which `puffer-sdk eval` prints
struct Log {                    // floats: sums over goals reached, divided by n when reported
    float perf;                 // [0, 1]  1 for a goal at once, 0 for one after PACE ticks
    float score;                // 1
    float episode_return;       // 1
    float episode_length;       // ticks since that agent's goal before
    float n;                    // goals summed here; must stay the last field
};

typedef struct Goal { float x, y; } Goal;

typedef struct Chaser {         // the body of the agent of the same index
    float x, y;                 // [0, width], [0, height]
    float heading;              // [0, TURN)
    float speed;                // [-MAX_SPEED, MAX_SPEED]
    float reward;               // of the last tick; the trainer clears its own rewards
    int idle;                   // ticks since this agent's last goal
} Chaser;

struct Env {
    // Shared with the trainer, which owns what agents point at: fill it, never free it
    Log log;
    Agent agents[AGENTS];       // each ->observations  out [OBS_SIZE]
                                //      ->actions       in  [NUM_ATNS]  indices, as floats
                                //      ->rewards       out [1]
                                //      ->terminals     out [1]  always 0 here
    int num_agents;             // how many of them play; puf_init sets it
    int tag;                    // of PufferLib's trainer
    int boundary_reached;       // the same
    unsigned int rng;           // this field's seed, then its generator state

    // Settings, from [env] in {{ cookiecutter.name }}.ini: puf_init copies them
    int width, height;

    // Private to this file. puf_reset sets all of it: a field that it forgets would carry
    // one episode into the next
    Chaser chasers[AGENTS];
    Goal goals[GOALS];
};

// Uniform in [0, limit]. The state lives in the env, not in rand(), so that a run depends
// only on its seed and copies can step on any thread. Seed 0 is as good as any: the
// counter walks through all 2^32 states, the mixing makes neighbours look unrelated
static inline float random_to(unsigned int* rng, int limit) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (float)limit * ((float)(bits >> 8) / 16777216.0f);   // 2^24: exact in a float
}

static inline float clamp(float value, float low, float high) {
    return fminf(fmaxf(value, low), high);
}

static inline void place_goal(Env* env, Goal* goal) {
    goal->x = random_to(&env->rng, env->width);
    goal->y = random_to(&env->rng, env->height);
}

// Somewhere, at rest, facing right. Leaves reward and idle to the caller
static inline void place_chaser(Env* env, Chaser* chaser) {
    chaser->x = random_to(&env->rng, env->width);
    chaser->y = random_to(&env->rng, env->height);
    chaser->heading = 0.0f;
    chaser->speed = 0.0f;
}

// Writes every float of every row, in the order that OBS_SIZE documents. Dividing by the
// field's size keeps all of them within [-1, 1], where networks learn best
static inline void observe(Env* env) {
    const float width = (float)env->width, height = (float)env->height;
    for (int a = 0; a < AGENTS; a++) {
        const Chaser* self = &env->chasers[a];
        obs_t* obs = env->agents[a].observations;
        for (int g = 0; g < GOALS; g++) {
            *obs++ = (env->goals[g].x - self->x) / width;
            *obs++ = (env->goals[g].y - self->y) / height;
        }
        for (int other = 0; other < AGENTS; other++) {
            *obs++ = (env->chasers[other].x - self->x) / width;
            *obs++ = (env->chasers[other].y - self->y) / height;
        }
        *obs++ = self->heading / TURN;
        *obs++ = self->reward;
        *obs++ = self->x / width;
        *obs++ = self->y / height;
    }
}

//-- Functions: puf_init, puf_close, puf_log, then the two that matter ------------
// Runs once, with the keys of [env]. The agents' arrays are not bound yet
void puf_init(Env* env, Dict* kwargs) {
    env->width = (int)dict_get(kwargs, "width");
    env->height = (int)dict_get(kwargs, "height");
    env->num_agents = AGENTS;
    for (int a = 0; a < AGENTS; a++) {
        env->agents[a].policy = 0;              // the policy that learns, for everybody
        env->agents[a].action_mask = NULL;      // every action is always legal
    }
}

// Runs last. Free what this file allocated: nothing. What agents point at is not ours to free
void puf_close(Env* env) {
    (void)env;
    if (IsWindowReady()) CloseWindow();         // of puf_render
}

// The means to report, by name; `n` is divided by already
void puf_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}

void puf_reset(Env* env) {
    for (int g = 0; g < GOALS; g++) {
        place_goal(env, &env->goals[g]);
    }
    for (int a = 0; a < AGENTS; a++) {
        place_chaser(env, &env->chasers[a]);
        env->chasers[a].reward = 0.0f;
        env->chasers[a].idle = 0;
    }
    observe(env);
}

// Turn, accelerate, go. Headings wrap: clamped to [0, TURN] instead, an agent could never
// turn left across 0, and would learn to spin the long way round
static inline void move(const Env* env, Chaser* chaser, const float* actions) {
    chaser->heading += (actions[HEAD_TURN] - (float)(TURNS / 2)) / TURN_STEPS;
    if (chaser->heading < 0.0f) chaser->heading += TURN;
    if (chaser->heading >= TURN) chaser->heading -= TURN;   // second: -1e-9 + TURN is TURN
    chaser->speed += actions[HEAD_THRUST] - (float)(THRUSTS / 2);
    chaser->speed = clamp(chaser->speed, -MAX_SPEED, MAX_SPEED);
    float x = chaser->x + chaser->speed * cosf(chaser->heading);
    float y = chaser->y + chaser->speed * sinf(chaser->heading);
    chaser->x = clamp(x, 0.0f, (float)env->width);
    chaser->y = clamp(y, 0.0f, (float)env->height);
}

// The index of a goal within reach, or -1. One a tick is enough: the reward stays 1, and
// the next goal is still there a tick later
static inline int goal_in_reach(const Env* env, const Chaser* chaser) {
    for (int g = 0; g < GOALS; g++) {
        float dx = env->goals[g].x - chaser->x, dy = env->goals[g].y - chaser->y;
        if (dx * dx + dy * dy <= REACH * REACH) {
            return g;
        }
    }
    return -1;
}

// Agent 0's actions, from the keyboard: `play` and the programs of `build` call this while
// LEFT SHIFT is held. The middle action of a head keeps things as they are
static inline void c_keys(Env* env) {
    int left  = IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A);
    int right = IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D);
    int up    = IsKeyDown(KEY_UP)    || IsKeyDown(KEY_W);
    int down  = IsKeyDown(KEY_DOWN)  || IsKeyDown(KEY_S);
    env->agents[0].actions[HEAD_TURN] = (float)(TURNS / 2 + right - left);
    env->agents[0].actions[HEAD_THRUST] = (float)(THRUSTS / 2 + up - down);
}

// Advance one tick: all agents move, goals are handed out, all agents look
void puf_step(Env* env) {
#ifdef PUFFERCPU_EVAL_MAIN      // PufferLib's player, which leaves the keys to its environments
    if (IsKeyDown(KEY_LEFT_SHIFT)) c_keys(env);
#endif
    for (int a = 0; a < AGENTS; a++) {
        move(env, &env->chasers[a], env->agents[a].actions);
    }
    for (int a = 0; a < AGENTS; a++) {
        Chaser* chaser = &env->chasers[a];
        int g = goal_in_reach(env, chaser);
        chaser->idle += 1;
        chaser->reward = g >= 0 ? 1.0f : 0.0f;
        if (g >= 0) {
            env->log.perf += fmaxf(0.0f, 1.0f - (float)chaser->idle / PACE);
            env->log.score += 1.0f;
            env->log.episode_return += 1.0f;
            env->log.episode_length += (float)chaser->idle;
            env->log.n += 1.0f;
            chaser->idle = 0;
            place_goal(env, &env->goals[g]);
        } else if (chaser->idle % IDLE_TICKS == 0) {
            place_chaser(env, chaser);      // stuck, perhaps: a fresh start costs no reward
        }
        // Write both on every step, for every agent: the arrays may hold anything
        env->agents[a].rewards[0] = chaser->reward;
        env->agents[a].terminals[0] = 0.0f;
    }
    observe(env);
}

//-- Drawing: reads the state and never changes it, so a recording is true --------
#define PUF_STEPS_PER_SEC 60    // the speed of play

static inline Vector2 corner(const Chaser* chaser, float angle, float distance) {
    angle += chaser->heading;
    Vector2 point = {chaser->x + distance * cosf(angle), chaser->y + distance * sinf(angle)};
    return point;
}

void puf_render(Env* env) {
    const Color night = {16, 24, 32, 255}, gold = {255, 190, 60, 255};
    const Color halo = {255, 190, 60, 36}, teal = {0, 205, 190, 255};
    const Color red = {235, 70, 80, 255};   // agent 0, the one to follow or to steer
    if (!IsWindowReady()) {
        InitWindow(env->width, env->height, "{{ cookiecutter.name }}");
        SetTargetFPS(60);
    }

    BeginDrawing();
    ClearBackground(night);
    for (int g = 0; g < GOALS; g++) {
        int x = (int)env->goals[g].x, y = (int)env->goals[g].y;
        DrawCircle(x, y, REACH, halo);      // the agent's centre has to come in here
        DrawCircle(x, y, 10.0f, gold);
    }
    for (int a = 0; a < AGENTS; a++) {
        const Chaser* chaser = &env->chasers[a];
        Color paint = chaser->reward > 0.0f ? RAYWHITE : a == 0 ? red : teal;
        DrawTriangle(corner(chaser, 0.0f, 20.0f), corner(chaser, -2.5f, 15.0f),
                     corner(chaser, 2.5f, 15.0f), paint);
    }
    DrawText(TextFormat("%.0f goals reached", env->log.n), 12, 10, 20, RAYWHITE);
    EndDrawing();
    puf_web_vsync();            // in a web page of PufferLib: waits for the screen
}
