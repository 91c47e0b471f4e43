// Six robots in an arena. Who falls off waits, dead and blind, until one is left. Rewards and
// terminals of the dead are written, their observations are not.
#pragma once
#include <math.h>
#include <stdbool.h>
#include <string.h>
#define ROBOTS 6
#define OBS_SIZE 6
#define ACT_SIZES {3, 3}
typedef struct Log {
    float perf;
    float score;
    float episode_length;
    float n;
} Log;
static inline float roll(unsigned int* rng) {      // [0, 1)
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

typedef struct Robot { float x, y, vx, vy; bool dead; } Robot;

typedef struct Arena {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Robot robots[ROBOTS];
    int alive, tick;
} Arena;

void init(Arena* env) { env->num_agents = ROBOTS; }

static void observe(Arena* env, int i) {
    Robot* me = &env->robots[i];
    float* o = env->observations + i * OBS_SIZE;
    memset(o, 0, OBS_SIZE * sizeof(float));
    if (me->dead) return;
    float near = 10.0f;
    for (int j = 0; j < ROBOTS; j++) {
        Robot* other = &env->robots[j];
        float d = hypotf(other->x - me->x, other->y - me->y);
        if (j == i || other->dead || d >= near) continue;
        near = d;
        o[4] = other->x - me->x;
        o[5] = other->y - me->y;
    }
    o[0] = me->x;
    o[1] = me->y;
    o[2] = 10.0f * me->vx;
    o[3] = 10.0f * me->vy;
}

void c_reset(Arena* env) {
    for (int i = 0; i < ROBOTS; i++) {
        float angle = 6.2831853f * ((float)i + 0.5f * roll(&env->rng)) / ROBOTS;
        env->robots[i] = (Robot){0.6f * cosf(angle), 0.6f * sinf(angle), 0, 0, false};
    }
    env->alive = ROBOTS;
    env->tick = 0;
    for (int i = 0; i < ROBOTS; i++) observe(env, i);
}

static void add_log(Arena* env) {
    env->log.perf += env->alive == 1;
    env->log.score += (float)(ROBOTS - env->alive);
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
}

void c_step(Arena* env) {
    env->tick++;
    for (int i = 0; i < ROBOTS; i++) {
        Robot* r = &env->robots[i];
        env->rewards[i] = 0.0f;
        env->terminals[i] = 0.0f;
        if (r->dead) continue;
        r->vx = 0.9f * r->vx + 0.02f * (env->actions[2 * i] - 1.0f);
        r->vy = 0.9f * r->vy + 0.02f * (env->actions[2 * i + 1] - 1.0f);
        r->x += r->vx;
        r->y += r->vy;
        if (hypotf(r->x, r->y) > 1.0f) {
            r->dead = true;
            env->alive--;
            env->rewards[i] = -1.0f;
            env->terminals[i] = 1.0f;
        }
    }
    if (env->alive <= 1 || env->tick >= 300) {
        for (int i = 0; i < ROBOTS; i++) {
            if (env->robots[i].dead) continue;
            env->rewards[i] = 1.0f;
            env->terminals[i] = 1.0f;
        }
        add_log(env);
        c_reset(env);
        return;
    }
    for (int i = 0; i < ROBOTS; i++) {
        if (!env->robots[i].dead) observe(env, i);
    }
}

void c_render(Arena* env) { (void)env; }
void c_close(Arena* env) { (void)env; }
