// Bumpers: discs on a round arena push each other over the edge. Who falls pays `fall_penalty` and
// comes back after `respawn` ticks; the last one who touched it in the `grudge` ticks before earns
// `push_reward`, if it is still in the arena. Everybody on it earns `stay_reward` a tick. The arena
// shrinks during a round, and when the round is over, all begin anew.
//
// An episode is one life of a disc: it ends with the fall, or with the round. While a disc is out,
// its row is empty: alive[a] is 0.
//
// The arena has its middle at (0, 0) and at first the radius 1; speeds are per tick.
#pragma once

#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "raylib.h"

#define MAX_DISCS 8
#define DISC 0.09f             // radius of a disc
#define MAX_SPEED 0.1f
#define SEEN 3                 // others that a disc sees, the nearest first
#define TANK 40                // ticks of boost
#define REFILL 4               // ticks for one more
#define PAR 3.0f               // pushes of a good life, perf 1

#define COAST 0                // 1 to 4: thrust north, south, west, east
#define BOOST 5                // thrust along the motion, twice as strong, while the tank lasts

enum {
    OBS_X,                     // [-1, 1]
    OBS_Y,                     // [-1, 1]
    OBS_VX,                    // [-1, 1]
    OBS_VY,                    // [-1, 1]
    OBS_RADIUS,                // [0, 1]   of the arena
    OBS_EDGE,                  // [0, 1]   how far away the edge is
    OBS_TANK,                  // [0, 1]
    OBS_CLOCK,                 // [0, 1]   share of the round that is left
    OBS_CROWD,                 // [0, 1]   share of the others who are in the arena
    OBS_OTHERS,                // list 3 x 5, mask 4   x, y, vx, vy from here; 1 = there is one
    OBS_COUNT = OBS_OTHERS + 5 * SEEN
};

static const float DX[5] = {0.0f, 0.0f, 0.0f, -1.0f, 1.0f};
static const float DY[5] = {0.0f, -1.0f, 1.0f, 0.0f, 0.0f};

// Required struct. Only use floats!
typedef struct {
    float perf;                // pushes of a life over PAR, at most 1
    float score;               // pushes of a life
    float episode_return;
    float episode_length;      // ticks of a life
    float fell;                // share of the lives that ended over the edge
    float boosts;              // ticks of boost
    float n;                   // Required as the last field
} Log;

typedef struct {
    float x, y;
    float vx, vy;
    int tank;
    int out;                   // ticks until it comes back, 0 = in the arena
    int hit_by;                // who touched it last, or -1
    int hit_tick;
    int born;                  // tick of the round
    int pushes;
    int boosts;
    float ret;
} Disc;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* alive;
    int num_agents;
    unsigned int rng;

    // settings
    int round;
    int respawn;
    int grudge;
    float engine;
    float drag;
    float shrink;
    float push_reward;
    float fall_penalty;
    float stay_reward;

    Disc discs[MAX_DISCS];
    float radius;
    int tick;
    int limit;
} Bumpers;

static float uniform(Bumpers* env, float low, float high) {
    env->rng = env->rng * 1664525u + 1013904223u;
    unsigned int bits = (env->rng ^ (env->rng >> 16)) * 0x7feb352du;
    bits = (bits ^ (bits >> 15)) * 0x846ca68bu;
    return low + (high - low) * ((float)(bits >> 8) / 16777216.0f);
}

static float distance(const Disc* a, const Disc* b) {
    float dx = b->x - a->x;
    float dy = b->y - a->y;
    return sqrtf(dx * dx + dy * dy);
}

// The nearest one in the arena that is not yet in `seen`, or -1
static int next_nearest(Bumpers* env, int a, const int* seen, int count) {
    int best = -1;
    float nearest = 0.0f;
    for (int b = 0; b < env->num_agents; b++) {
        if (b == a || env->discs[b].out > 0) continue;
        int known = 0;
        for (int i = 0; i < count; i++) known |= seen[i] == b;
        if (known) continue;
        float d = distance(&env->discs[a], &env->discs[b]);
        if (best < 0 || d < nearest) {
            best = b;
            nearest = d;
        }
    }
    return best;
}

static void observe(Bumpers* env) {
    int present = 0;
    for (int a = 0; a < env->num_agents; a++) {
        present += env->discs[a].out == 0;
    }
    for (int a = 0; a < env->num_agents; a++) {
        Disc* me = &env->discs[a];
        if (me->out > 0) continue;
        float* obs = env->observations + a * OBS_COUNT;
        obs[OBS_X] = me->x;
        obs[OBS_Y] = me->y;
        obs[OBS_VX] = me->vx / MAX_SPEED;
        obs[OBS_VY] = me->vy / MAX_SPEED;
        obs[OBS_RADIUS] = env->radius;
        obs[OBS_EDGE] = fmaxf(0.0f, env->radius - sqrtf(me->x * me->x + me->y * me->y));
        obs[OBS_TANK] = (float)me->tank / TANK;
        obs[OBS_CLOCK] = 1.0f - (float)env->tick / env->limit;
        obs[OBS_CROWD] = (float)(present - 1) / (env->num_agents - 1);

        int seen[SEEN];
        for (int i = 0; i < SEEN; i++) {
            float* row = obs + OBS_OTHERS + 5 * i;
            int b = next_nearest(env, a, seen, i);
            seen[i] = b;
            if (b < 0) {
                memset(row, 0, 5 * sizeof(float));
                continue;
            }
            Disc* other = &env->discs[b];
            row[0] = (other->x - me->x) / 2.0f;
            row[1] = (other->y - me->y) / 2.0f;
            row[2] = (other->vx - me->vx) / (2.0f * MAX_SPEED);
            row[3] = (other->vy - me->vy) / (2.0f * MAX_SPEED);
            row[4] = 1.0f;
        }
    }
}

// A new life, at a place where nobody stands (or, in a crowd, the last one that was tried)
static void place(Bumpers* env, int a) {
    Disc* me = &env->discs[a];
    for (int tries = 0; tries < 50; tries++) {
        me->x = uniform(env, -0.6f, 0.6f) * env->radius;
        me->y = uniform(env, -0.6f, 0.6f) * env->radius;
        int free = 1;
        for (int b = 0; b < env->num_agents; b++) {
            if (b == a || env->discs[b].out > 0) continue;
            free &= distance(me, &env->discs[b]) > 3.0f * DISC;
        }
        if (free) break;
    }
    // Nobody owes this life what the last one did
    for (int b = 0; b < env->num_agents; b++) {
        if (env->discs[b].hit_by == a) env->discs[b].hit_by = -1;
    }
    me->vx = 0.0f;
    me->vy = 0.0f;
    me->tank = TANK;
    me->out = 0;
    me->hit_by = -1;
    me->hit_tick = 0;
    me->born = env->tick;
    me->pushes = 0;
    me->boosts = 0;
    me->ret = 0.0f;
}

void c_reset(Bumpers* env) {
    env->tick = 0;
    env->limit = 3 * env->round / 4 + (int)uniform(env, 0.0f, env->round / 2 + 1);
    env->radius = 1.0f;
    for (int a = 0; a < env->num_agents; a++) {
        env->discs[a].out = 1;
    }
    for (int a = 0; a < env->num_agents; a++) {
        place(env, a);
        env->alive[a] = 1;
    }
    observe(env);
}

static void drive(Bumpers* env, int a, int action) {
    Disc* me = &env->discs[a];
    float ax = 0.0f;
    float ay = 0.0f;
    float speed = sqrtf(me->vx * me->vx + me->vy * me->vy);
    if (action == BOOST) {
        if (me->tank > 0 && speed > 0.0f) {
            ax = 2.0f * me->vx / speed;
            ay = 2.0f * me->vy / speed;
            me->tank--;
            me->boosts++;
        }
    } else {
        ax = DX[action];
        ay = DY[action];
        if (env->tick % REFILL == 0 && me->tank < TANK) me->tank++;
    }
    me->vx = (me->vx + env->engine * ax) * (1.0f - env->drag);
    me->vy = (me->vy + env->engine * ay) * (1.0f - env->drag);
    me->vx = fminf(fmaxf(me->vx, -MAX_SPEED), MAX_SPEED);
    me->vy = fminf(fmaxf(me->vy, -MAX_SPEED), MAX_SPEED);
    me->x += me->vx;
    me->y += me->vy;
}

// Two discs of the same weight swap their speeds along the line between them
static void collide(Bumpers* env, int a, int b) {
    Disc* p = &env->discs[a];
    Disc* q = &env->discs[b];
    float d = distance(p, q);
    if (d >= 2.0f * DISC || d < 1e-6f) return;
    p->hit_by = b;
    q->hit_by = a;
    p->hit_tick = env->tick;
    q->hit_tick = env->tick;
    float nx = (q->x - p->x) / d;
    float ny = (q->y - p->y) / d;
    float closing = (p->vx - q->vx) * nx + (p->vy - q->vy) * ny;
    if (closing <= 0.0f) return;
    p->vx = fminf(fmaxf(p->vx - closing * nx, -MAX_SPEED), MAX_SPEED);
    p->vy = fminf(fmaxf(p->vy - closing * ny, -MAX_SPEED), MAX_SPEED);
    q->vx = fminf(fmaxf(q->vx + closing * nx, -MAX_SPEED), MAX_SPEED);
    q->vy = fminf(fmaxf(q->vy + closing * ny, -MAX_SPEED), MAX_SPEED);
}

static int is_off(Bumpers* env, int a) {
    Disc* me = &env->discs[a];
    return me->x * me->x + me->y * me->y > env->radius * env->radius;
}

static void end_life(Bumpers* env, int a, int fell) {
    Disc* me = &env->discs[a];
    env->terminals[a] = 1.0f;
    env->log.perf += fminf(1.0f, me->pushes / PAR);
    env->log.score += me->pushes;
    env->log.episode_return += me->ret;
    env->log.episode_length += env->tick - me->born;
    env->log.fell += fell;
    env->log.boosts += me->boosts;
    env->log.n += 1.0f;
}

void c_step(Bumpers* env) {
    int n = env->num_agents;
    int fell[MAX_DISCS] = {0};
    for (int a = 0; a < n; a++) {
        env->rewards[a] = 0.0f;
        env->terminals[a] = 0.0f;
    }
    env->tick++;
    env->radius = 1.0f - env->shrink * env->tick / env->limit;

    for (int a = 0; a < n; a++) {
        if (env->discs[a].out == 0) drive(env, a, (int)env->actions[a]);
    }
    for (int a = 0; a < n; a++) {
        for (int b = a + 1; b < n; b++) {
            if (env->discs[a].out == 0 && env->discs[b].out == 0) collide(env, a, b);
        }
    }

    // Who fell, and who is to thank for it: all falls of a tick are at once
    for (int a = 0; a < n; a++) {
        fell[a] = env->discs[a].out == 0 && is_off(env, a);
    }
    for (int a = 0; a < n; a++) {
        Disc* me = &env->discs[a];
        if (me->out > 0) continue;
        if (!fell[a]) {
            env->rewards[a] += env->stay_reward;
            continue;
        }
        env->rewards[a] -= env->fall_penalty;
        int by = me->hit_by;
        if (by >= 0 && env->tick - me->hit_tick < env->grudge && env->discs[by].out == 0 && !fell[by]) {
            env->rewards[by] += env->push_reward;
            env->discs[by].pushes++;
        }
    }

    int over = env->tick >= env->limit;
    for (int a = 0; a < n; a++) {
        Disc* me = &env->discs[a];
        if (me->out > 0) {
            if (--me->out > 0) continue;
            place(env, a);
            env->alive[a] = 1;
            continue;
        }
        me->ret += env->rewards[a];
        if (fell[a] || over) end_life(env, a, fell[a]);
        if (fell[a]) {
            me->out = env->respawn;
            env->alive[a] = 0;
        }
    }
    if (over) {
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Bumpers* env) {
    const int size = 720;
    const float zoom = 340.0f;
    if (!IsWindowReady()) {
        InitWindow(size, size, "PufferLib Bumpers");
        SetTargetFPS(30);
    }
    if (IsKeyDown(KEY_ESCAPE)) {
        exit(0);
    }

    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    DrawCircle(size / 2, size / 2, env->radius * zoom, DARKGRAY);
    for (int a = 0; a < env->num_agents; a++) {
        Disc* me = &env->discs[a];
        if (me->out > 0) continue;
        int cx = size / 2 + (int)(me->x * zoom);
        int cy = size / 2 + (int)(me->y * zoom);
        DrawCircle(cx, cy, DISC * zoom, SKYBLUE);
        DrawText(TextFormat("%d", me->pushes), cx - 5, cy - 8, 16, BLACK);
    }
    EndDrawing();
}

void c_close(Bumpers* env) {
}
