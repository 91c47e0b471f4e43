/* {{ cookiecutter.name }}.h -- a crowd chases goals on a field.  Many agents, two actions each.
 *
 *      +------------------------------------+
 *      |   (o)              a>              |     a>   an agent and its heading
 *      |          <a                        |     (o)  a goal: come within REACH of it
 *      |                    (o)      a>     |          for +1, and it jumps elsewhere
 *      |    a>                              |
 *      +------------------------------------+     walls stop; nobody ever dies
 *
 * All agents share one policy and see each other, so they can learn who goes where.
 *
 * Read top to bottom: what an agent sees and does, the rules, the state, then c_reset
 * and c_step. Whatever you change, `puffer-sdk check` tells you what it broke.
 *
 * Units: length in pixels, angles in radians, time in ticks, speed in pixels per tick.
 * Axes as on screen: x to the right, y down, so a growing heading turns clockwise.
 */
#pragma once

#include <math.h>               // cosf, sinf, fminf, fmaxf
#include <stdint.h>             // uint64_t
#include <stdlib.h>             // calloc, free
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what an agent sees and does ---------------------------------------
// One row of floats per agent, in this order; offsets are from the agent itself
//     each goal                   dx / width, dy / height          [-1, 1]
//     each agent, itself too      dx / width, dy / height          [-1, 1]
//     heading / TURN [0, 1)   last reward   x / width   y / height [ 0, 1]
// An expression, so that it follows the settings: 28 for 4 goals and 8 agents
#define OBS_SIZE (2 * env->num_goals + 2 * env->num_agents + 4)

#define TURNS    9              // head 0: heading += (action - 4) / TURN_STEPS; 4 is straight on
#define THRUSTS  5              // head 1: speed += action - 2;                  2 is coasting
#define ACT_SIZES {TURNS, THRUSTS}
enum { HEAD_TURN, HEAD_THRUST, HEAD_COUNT };

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
typedef struct Log {            // sums over goals reached, divided by n when reported
    float perf;                 // [0, 1]  1 for a goal at once, 0 for one after PACE ticks
    float score;                // 1
    float episode_return;       // 1
    float episode_length;       // ticks since that agent's goal before
    float n;                    // goals summed here; must stay the last field
} Log;

typedef struct Goal { float x, y; } Goal;

typedef struct Agent {
    float x, y;                 // [0, width], [0, height]
    float heading;              // [0, TURN)
    float speed;                // [-MAX_SPEED, MAX_SPEED]
    float reward;               // of the last tick; the trainer clears its own rewards array
    int idle;                   // ticks since this agent's last goal
} Agent;

typedef struct {{ cookiecutter.__struct }} {
    // Shared with the trainer, which owns the arrays: fill them, never free them.
    // N = num_agents; an agent's row is the one of its index
    Log log;
    float* observations;        // out (N, OBS_SIZE)
    float* actions;             // in  (N, HEAD_COUNT)  an index into each head, as a float
    float* rewards;             // out (N)
    float* terminals;           // out (N)  always 0 here
    unsigned int rng;           // this field's seed, then its generator state

    // Settings, from [env] in {{ cookiecutter.name }}.ini: matched by name, set before init
    int num_agents;
    int num_goals;
    int width, height;

    // Private to this file. Settings aside, c_reset sets all of it: a field that it
    // forgets would carry one episode into the next
    Agent* agents;              // (N)          from init to c_close
    Goal* goals;                // (num_goals)  the same
} {{ cookiecutter.__struct }};

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

static inline void place_goal({{ cookiecutter.__struct }}* env, Goal* goal) {
    goal->x = random_to(&env->rng, env->width);
    goal->y = random_to(&env->rng, env->height);
}

// Somewhere, at rest, facing right. Leaves reward and idle to the caller
static inline void place_agent({{ cookiecutter.__struct }}* env, Agent* agent) {
    agent->x = random_to(&env->rng, env->width);
    agent->y = random_to(&env->rng, env->height);
    agent->heading = 0.0f;
    agent->speed = 0.0f;
}

// Writes every float of every row, in the order that OBS_SIZE documents. Dividing by the
// field's size keeps all of them within [-1, 1], where networks learn best
static inline void observe({{ cookiecutter.__struct }}* env) {
    const float width = (float)env->width, height = (float)env->height;
    float* obs = env->observations;
    for (int a = 0; a < env->num_agents; a++) {
        const Agent* self = &env->agents[a];
        for (int g = 0; g < env->num_goals; g++) {
            *obs++ = (env->goals[g].x - self->x) / width;
            *obs++ = (env->goals[g].y - self->y) / height;
        }
        for (int other = 0; other < env->num_agents; other++) {
            *obs++ = (env->agents[other].x - self->x) / width;
            *obs++ = (env->agents[other].y - self->y) / height;
        }
        *obs++ = self->heading / TURN;
        *obs++ = self->reward;
        *obs++ = self->x / width;
        *obs++ = self->y / height;
    }
}

//-- Functions: init, c_close, then the two that matter ---------------------------
// Runs once, when the settings are known. The shared arrays are not bound yet
void init({{ cookiecutter.__struct }}* env) {
    env->agents = (Agent*)calloc((size_t)env->num_agents, sizeof(Agent));
    env->goals = (Goal*)calloc((size_t)env->num_goals, sizeof(Goal));
}

// Runs last. Free what init allocated, and nothing else
void c_close({{ cookiecutter.__struct }}* env) {
    free(env->agents);
    free(env->goals);
}

void c_reset({{ cookiecutter.__struct }}* env) {
    for (int g = 0; g < env->num_goals; g++) {
        place_goal(env, &env->goals[g]);
    }
    for (int a = 0; a < env->num_agents; a++) {
        place_agent(env, &env->agents[a]);
        env->agents[a].reward = 0.0f;
        env->agents[a].idle = 0;
    }
    observe(env);
}

// Turn, accelerate, go. Headings wrap: clamped to [0, TURN] instead, an agent could never
// turn left across 0, and would learn to spin the long way round
static inline void move({{ cookiecutter.__struct }}* env, Agent* agent, const float* actions) {
    agent->heading += (actions[HEAD_TURN] - (float)(TURNS / 2)) / TURN_STEPS;
    if (agent->heading < 0.0f) agent->heading += TURN;
    if (agent->heading >= TURN) agent->heading -= TURN;     // second: -1e-9 + TURN is TURN
    agent->speed += actions[HEAD_THRUST] - (float)(THRUSTS / 2);
    agent->speed = clamp(agent->speed, -MAX_SPEED, MAX_SPEED);
    agent->x = clamp(agent->x + agent->speed * cosf(agent->heading), 0.0f, (float)env->width);
    agent->y = clamp(agent->y + agent->speed * sinf(agent->heading), 0.0f, (float)env->height);
}

// The index of a goal within reach, or -1. One a tick is enough: the reward stays 1, and
// the next goal is still there a tick later
static inline int goal_in_reach(const {{ cookiecutter.__struct }}* env, const Agent* agent) {
    for (int g = 0; g < env->num_goals; g++) {
        float dx = env->goals[g].x - agent->x, dy = env->goals[g].y - agent->y;
        if (dx * dx + dy * dy <= REACH * REACH) {
            return g;
        }
    }
    return -1;
}

// Advance one tick: all agents move, goals are handed out, all agents look
void c_step({{ cookiecutter.__struct }}* env) {
    for (int a = 0; a < env->num_agents; a++) {
        move(env, &env->agents[a], &env->actions[a * HEAD_COUNT]);
    }
    for (int a = 0; a < env->num_agents; a++) {
        Agent* agent = &env->agents[a];
        int g = goal_in_reach(env, agent);
        agent->idle += 1;
        agent->reward = g >= 0 ? 1.0f : 0.0f;
        if (g >= 0) {
            env->log.perf += fmaxf(0.0f, 1.0f - (float)agent->idle / PACE);
            env->log.score += 1.0f;
            env->log.episode_return += 1.0f;
            env->log.episode_length += (float)agent->idle;
            env->log.n += 1.0f;
            agent->idle = 0;
            place_goal(env, &env->goals[g]);
        } else if (agent->idle % IDLE_TICKS == 0) {
            place_agent(env, agent);    // stuck, perhaps: a fresh start costs no reward
        }
        // Write both on every step, for every agent: the arrays may hold anything
        env->rewards[a] = agent->reward;
        env->terminals[a] = 0.0f;
    }
    observe(env);
}

//-- Drawing: reads the state and never changes it, so a recording is true --------
#ifndef PUFFER_DEVICE
static inline Vector2 corner(const Agent* agent, float angle, float distance) {
    angle += agent->heading;
    Vector2 point = {agent->x + distance * cosf(angle), agent->y + distance * sinf(angle)};
    return point;
}

void c_render({{ cookiecutter.__struct }}* env) {
    const Color night = {16, 24, 32, 255}, gold = {255, 190, 60, 255};
    const Color halo = {255, 190, 60, 36}, teal = {0, 205, 190, 255};
    const Color red = {235, 70, 80, 255};   // agent 0, the one to follow or to steer
    if (!IsWindowReady()) {
        InitWindow(env->width, env->height, "{{ cookiecutter.name }}");
        SetTargetFPS(60);
    }

    BeginDrawing();
    ClearBackground(night);
    for (int g = 0; g < env->num_goals; g++) {
        int x = (int)env->goals[g].x, y = (int)env->goals[g].y;
        DrawCircle(x, y, REACH, halo);      // the agent's centre has to come in here
        DrawCircle(x, y, 10.0f, gold);
    }
    for (int a = 0; a < env->num_agents; a++) {
        const Agent* agent = &env->agents[a];
        Color paint = agent->reward > 0.0f ? RAYWHITE : a == 0 ? red : teal;
        DrawTriangle(corner(agent, 0.0f, 20.0f), corner(agent, -2.5f, 15.0f),
                     corner(agent, 2.5f, 15.0f), paint);
    }
    DrawText(TextFormat("%.0f goals reached", env->log.n), 12, 10, 20, RAYWHITE);
    EndDrawing();
}
#endif
