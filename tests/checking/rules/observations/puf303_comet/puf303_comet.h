// expect: PUF303
// Two probes fall towards a comet. Fault: the direction divides by the distance, which is zero
// on the rare step on which a probe sits exactly on the core.
#pragma once
#include <math.h>
#define OBS_SIZE 3
#define ACT_SIZES {3, 3}
typedef struct Log {
    float episode_return;
    float episode_length;
    float n;
} Log;
static inline float roll(unsigned int* rng) {      // [0, 1)
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

typedef struct Probe { int x, y; } Probe;

typedef struct Comet {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Probe probe[2];
    int tick;
} Comet;

void init(Comet* env) { env->num_agents = 2; }

static void observe(Comet* env) {
    for (int i = 0; i < env->num_agents; i++) {
        float* o = &env->observations[i * OBS_SIZE];
        float dx = (float)env->probe[i].x, dy = (float)env->probe[i].y;
        float distance = sqrtf(dx * dx + dy * dy);
        o[0] = dx / distance;
        o[1] = dy / distance;
        o[2] = distance / 20.0f;
    }
}

void c_reset(Comet* env) {
    for (int i = 0; i < 2; i++) {
        env->probe[i].x = 3 + (int)(6.0f * roll(&env->rng));
        env->probe[i].y = -8 + (int)(16.0f * roll(&env->rng));
    }
    env->tick = 0;
    observe(env);
}

void c_step(Comet* env) {
    env->tick++;
    int over = env->tick >= 128;
    for (int i = 0; i < 2; i++) {
        Probe* p = &env->probe[i];
        p->x += (int)env->actions[2 * i] - 1;
        p->y += (int)env->actions[2 * i + 1] - 1;
        if (p->x > 9) p->x = 9;
        if (p->x < -9) p->x = -9;
        if (p->y > 9) p->y = 9;
        if (p->y < -9) p->y = -9;
        env->rewards[i] = p->x * p->x + p->y * p->y < 4 ? 0.1f : 0.0f;
        env->terminals[i] = over;
        env->log.episode_return += env->rewards[i] * 0.5f;
    }
    if (over) {
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Comet* env) { (void)env; }
void c_close(Comet* env) { (void)env; }
