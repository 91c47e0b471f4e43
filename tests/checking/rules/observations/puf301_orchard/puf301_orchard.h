// expect: PUF301
// Pick ripe fruit along a row of trees. Fault: OBS_SIZE still counts two fields that were removed.
#pragma once
#define TREES 12
#define OBS_SIZE (TREES + 4)
#define ACT_SIZES {3}           // left, pick, right
typedef struct Log {
    float score;
    float episode_length;
    float n;
} Log;
static inline float roll(unsigned int* rng) {      // [0, 1)
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

typedef struct Orchard {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float ripe[TREES];
    int at, tick, picked;
} Orchard;

static void observe(Orchard* env) {
    for (int i = 0; i < TREES; i++) env->observations[i] = env->ripe[i];
    env->observations[TREES] = (float)env->at / TREES;
    env->observations[TREES + 1] = (float)env->tick / 100.0f;
}

void c_reset(Orchard* env) {
    for (int i = 0; i < TREES; i++) env->ripe[i] = roll(&env->rng);
    env->at = TREES / 2;
    env->tick = env->picked = 0;
    observe(env);
}

void c_step(Orchard* env) {
    int a = (int)env->actions[0];
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    if (a == 1) {
        env->rewards[0] = env->ripe[env->at] >= 1.0f ? 1.0f : -0.2f;
        env->picked += env->ripe[env->at] >= 1.0f;
        env->ripe[env->at] = 0.0f;
    } else if (env->at + a - 1 >= 0 && env->at + a - 1 < TREES) {
        env->at += a - 1;
    }
    for (int i = 0; i < TREES; i++) env->ripe[i] += env->ripe[i] < 1.0f ? 0.02f : 0.0f;
    if (++env->tick == 100) {
        env->terminals[0] = 1.0f;
        env->log.score += (float)env->picked;
        env->log.episode_length += 100.0f;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Orchard* env) { (void)env; }
void c_close(Orchard* env) { (void)env; }
