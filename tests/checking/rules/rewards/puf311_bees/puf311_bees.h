// expect: PUF311
// A swarm of five bees visits flowers. Fault: a bee that rests is skipped before its reward is
// written, so it keeps the one of its last flight.
#pragma once
#include <math.h>

#define BEES 5
#define OBS_SIZE 4
#define ACT_SIZES {5}
typedef struct Log {
    float score;
    float episode_length;
    float n;
} Log;
static inline float roll(unsigned int* rng) {      // [0, 1)
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

typedef struct Bee { float x, y; int rest; } Bee;

typedef struct Bees {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Bee bee[BEES];
    float fx, fy;
    int tick;
} Bees;

void init(Bees* env) { env->num_agents = BEES; }

static void show(Bees* env) {
    for (int i = 0; i < BEES; i++) {
        float* o = env->observations + OBS_SIZE * i;
        *o++ = env->fx - env->bee[i].x;
        *o++ = env->fy - env->bee[i].y;
        *o++ = (float)env->bee[i].rest / 5.0f;
        *o++ = (float)env->tick / 120.0f;
    }
}

void c_reset(Bees* env) {
    for (int i = 0; i < BEES; i++) env->bee[i] = (Bee){roll(&env->rng), roll(&env->rng), 0};
    env->fx = roll(&env->rng);
    env->fy = roll(&env->rng);
    env->tick = 0;
    show(env);
}

void c_step(Bees* env) {
    int end = ++env->tick >= 120;
    for (int i = 0; i < BEES; i++) {
        Bee* b = &env->bee[i];
        env->terminals[i] = end ? 1.0f : 0.0f;
        if (b->rest > 0) {
            b->rest--;
            continue;
        }
        int a = (int)env->actions[i];
        b->x += 0.05f * (float)((a == 1) - (a == 2));
        b->y += 0.05f * (float)((a == 3) - (a == 4));
        b->x = fminf(1.0f, fmaxf(0.0f, b->x));
        b->y = fminf(1.0f, fmaxf(0.0f, b->y));
        int there = fabsf(b->x - env->fx) + fabsf(b->y - env->fy) < 0.15f;
        env->rewards[i] = there ? 1.0f : 0.0f;
        if (there) {
            b->rest = 5;
            env->log.score += 1.0f;
            env->fx = roll(&env->rng);
            env->fy = roll(&env->rng);
        }
    }
    if (end) {
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    show(env);
}

void c_render(Bees* env) { (void)env; }
void c_close(Bees* env) { (void)env; }
