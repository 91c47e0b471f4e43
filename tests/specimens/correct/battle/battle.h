// Fighters in a round arena. Correct, with a variable number of agents: who has no health left is
// gone (alive 0) and back after some ticks at a place of his own, with another's view in between.
// The rows of the dead hold garbage: nobody may look. A battle ends for all who live at its last
// tick, and the dead are back with the next one.
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OBS_X,                          // [-1, 1]
    OBS_Y,                          // [-1, 1]
    OBS_HEALTH,                     // [0, 1]
    OBS_LEFT,                       // [0, 1]  of the battle
    OBS_FOE,                        // [0, 1]  1 if one is in reach
    OBS_FOE_X,                      // [-1, 1] where the nearest one stands
    OBS_FOE_Y,                      // [-1, 1]
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

enum { ACT_REST, ACT_EAST, ACT_WEST, ACT_NORTH, ACT_SOUTH, ACT_HIT, ACT_COUNT };
#define ACT_SIZES {ACT_COUNT}

#define STRENGTH 3
#define ABSENCE  12                 // ticks
#define STRIDE   0.1f
#define REACH    0.4f

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Fighter {
    float x, y, sum;
    int health, ticks, absent;
} Fighter;

typedef struct Battle {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* alive;
    int num_agents;
    unsigned int rng;
    int fighters;                   // [2, 64]
    int length;                     // [20, 10000] ticks
    int tick;
    Fighter* all;                   // (fighters)
} Battle;

static float roll(Battle* env) {    // [-1, 1)
    env->rng = env->rng * 1664525u + 1013904223u;
    return 2.0f * (float)(env->rng >> 8) / 16777216.0f - 1.0f;
}

void init(Battle* env) {
    env->num_agents = env->fighters;
    env->all = calloc((size_t)env->fighters, sizeof *env->all);
}

static float clip(float value) { return fmaxf(-1.0f, fminf(1.0f, value)); }

static Fighter* foe_of(Battle* env, const Fighter* me) {    // the nearest in reach, or NULL
    Fighter* found = NULL;
    float nearest = REACH;
    for (int i = 0; i < env->fighters; i++) {
        Fighter* other = &env->all[i];
        float distance = hypotf(other->x - me->x, other->y - me->y);
        if (other == me || other->health == 0 || distance >= nearest) continue;
        nearest = distance;
        found = other;
    }
    return found;
}

static void observe(Battle* env) {
    for (int i = 0; i < env->fighters; i++) {
        const Fighter* me = &env->all[i];
        float* o = env->observations + i * OBS_SIZE;
        env->alive[i] = me->health > 0;
        if (me->health == 0) {
            for (int k = 0; k < OBS_SIZE; k++) o[k] = NAN;    // nobody may look
            continue;
        }
        const Fighter* foe = foe_of(env, me);
        o[OBS_X] = me->x;
        o[OBS_Y] = me->y;
        o[OBS_HEALTH] = (float)me->health / STRENGTH;
        o[OBS_LEFT] = 1.0f - (float)env->tick / (float)env->length;
        o[OBS_FOE] = foe != NULL;
        o[OBS_FOE_X] = foe ? foe->x : 0.0f;
        o[OBS_FOE_Y] = foe ? foe->y : 0.0f;
    }
}

static void place(Battle* env, Fighter* me) {
    *me = (Fighter){.x = roll(env), .y = roll(env), .health = STRENGTH};
}

static void add_log(Battle* env, int i) {
    const Fighter* me = &env->all[i];
    env->terminals[i] = 1.0f;
    env->log.perf += fmaxf(0.0f, fminf(1.0f, me->sum / 5.0f));
    env->log.score += me->sum;
    env->log.episode_return += me->sum;
    env->log.episode_length += (float)me->ticks;
    env->log.n += 1.0f;
}

void c_reset(Battle* env) {
    env->tick = (int)(20.0f * (roll(env) + 1.0f) / 4.0f);
    for (int i = 0; i < env->fighters; i++) place(env, &env->all[i]);
    observe(env);
}

static void act(Battle* env, int i) {
    Fighter* me = &env->all[i];
    int action = (int)env->actions[i];
    me->x = clip(me->x + STRIDE * (float)((action == ACT_EAST) - (action == ACT_WEST)));
    me->y = clip(me->y + STRIDE * (float)((action == ACT_NORTH) - (action == ACT_SOUTH)));
    Fighter* foe = action == ACT_HIT ? foe_of(env, me) : NULL;
    if (!foe) return;
    foe->health--;
    env->rewards[i] += 0.5f;
    if (foe->health == 0) {
        foe->absent = ABSENCE;
        env->rewards[foe - env->all] -= 1.0f;
    }
}

void c_step(Battle* env) {
    int n = env->fighters;
    memset(env->rewards, 0, (size_t)n * sizeof(float));
    memset(env->terminals, 0, (size_t)n * sizeof(float));
    env->tick++;
    for (int i = 0; i < n; i++) {
        if (env->alive[i] && env->all[i].health > 0) act(env, i);
    }
    for (int i = 0; i < n; i++) {
        Fighter* me = &env->all[i];
        if (env->alive[i]) {
            me->sum += env->rewards[i];
            me->ticks++;
            if (me->health == 0 || env->tick >= env->length) add_log(env, i);
        } else {
            env->rewards[i] = NAN;      // nobody is paid
            if (--me->absent == 0) place(env, me);
        }
    }
    if (env->tick >= env->length) c_reset(env);
    else observe(env);
}

void c_render(Battle* env) { (void)env; }

void c_close(Battle* env) { free(env->all); }
