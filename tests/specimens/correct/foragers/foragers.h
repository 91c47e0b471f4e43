// Foragers walk among plants. Inputs that never change, and are right: a bias, the class of a
// plant that grows in another season, and empty slots behind the plants that are in sight.
#pragma once
#include <math.h>
#include <string.h>

enum { MINT, SAGE, TRUFFLE, KINDS };

enum {
    OBS_X,                          // [-1, 1]
    OBS_Y,                          // [-1, 1]
    OBS_BIAS,                       // [0, 1]
    OBS_BASKET,                     // [0, 1]  share of the basket that is full
    OBS_NEAREST,                    // [0, 1] also -1  distance, -1 if nothing is in sight
    OBS_KIND,                       // [0, 1]  one-hot of the nearest plant
    OBS_PLANTS = OBS_KIND + KINDS,  // [-2, 2] 6 slots of dx, dy; zeros behind the last plant
    OBS_COUNT = OBS_PLANTS + 12
};
#define OBS_SIZE OBS_COUNT
#define ACT_SIZES {5}
#define SLOTS 6
#define BASKET 8

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Plant { float x, y; int kind; } Plant;

typedef struct Foragers {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int plants;                     // [env] that grow, SLOTS at most
    float x, y, sum;
    int basket, tick, dusk;
    Plant plant[SLOTS];
} Foragers;

void init(Foragers* env) {
    if (env->plants > SLOTS) env->plants = SLOTS;
}

static float roll(Foragers* env) {  // [-1, 1)
    env->rng = env->rng * 1664525u + 1013904223u;
    return 2.0f * (float)(env->rng >> 8) / 16777216.0f - 1.0f;
}

static void grow(Foragers* env, Plant* plant) {
    plant->x = roll(env);
    plant->y = roll(env);
    plant->kind = roll(env) < 0.0f ? MINT : SAGE;       // truffles come in autumn
}

static void observe(Foragers* env) {
    float* o = env->observations;
    memset(o, 0, OBS_SIZE * sizeof(float));
    o[OBS_X] = env->x;
    o[OBS_Y] = env->y;
    o[OBS_BIAS] = 1.0f;
    o[OBS_BASKET] = (float)env->basket / BASKET;
    float near = 0.5f;
    o[OBS_NEAREST] = -1.0f;
    for (int i = 0; i < env->plants; i++) {
        Plant* p = &env->plant[i];
        o[OBS_PLANTS + 2 * i] = p->x - env->x;
        o[OBS_PLANTS + 2 * i + 1] = p->y - env->y;
        float d = hypotf(p->x - env->x, p->y - env->y);
        if (d < near) {
            near = d;
            o[OBS_NEAREST] = d;
            memset(o + OBS_KIND, 0, KINDS * sizeof(float));
            o[OBS_KIND + p->kind] = 1.0f;
        }
    }
}

void c_reset(Foragers* env) {
    env->x = roll(env);
    env->y = roll(env);
    env->sum = 0.0f;
    env->basket = env->tick = 0;
    env->dusk = 180 + (int)((env->rng >> 8) % 40u);
    for (int i = 0; i < env->plants; i++) grow(env, &env->plant[i]);
    observe(env);
}

void c_step(Foragers* env) {
    const float dx[] = {0.0f, 0.1f, -0.1f, 0.0f, 0.0f}, dy[] = {0.0f, 0.0f, 0.0f, 0.1f, -0.1f};
    int a = (int)env->actions[0];
    env->x = fmaxf(-1.0f, fminf(1.0f, env->x + dx[a]));
    env->y = fmaxf(-1.0f, fminf(1.0f, env->y + dy[a]));
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    for (int i = 0; i < env->plants; i++) {
        Plant* p = &env->plant[i];
        if (hypotf(p->x - env->x, p->y - env->y) < 0.1f && env->basket < BASKET) {
            env->rewards[0] += p->kind == SAGE ? 0.5f : 0.25f;
            env->basket++;
            grow(env, p);
        }
    }
    env->sum += env->rewards[0];
    if (++env->tick >= env->dusk || env->basket == BASKET) {
        env->terminals[0] = 1.0f;
        env->log.perf += (float)env->basket / BASKET;
        env->log.score += env->sum;
        env->log.episode_return += env->sum;
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Foragers* env) { (void)env; }
void c_close(Foragers* env) { (void)env; }
