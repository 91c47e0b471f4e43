// expect: PUF112
// Swing a crane's hook over a crate: turn and reel at once. Fault: two heads, but NUM_ATNS is 1.
#pragma once
#include <math.h>

#define OBS_SIZE 4
#define NUM_ATNS 1
#define ACT_SIZES {3, 3}

typedef struct Log { float perf, episode_length, n; } Log;

typedef struct Crane {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float angle, rope, crate, depth;
    int tick;
} Crane;

static float crane_random(Crane* env) {
    env->rng ^= env->rng << 13; env->rng ^= env->rng >> 17; env->rng ^= env->rng << 5;
    return (float)(env->rng & 0xFFFF) / 65536.0f;
}

static void crane_see(Crane* env) {
    float now[OBS_SIZE] = {env->angle, env->rope, env->crate - env->angle, env->depth - env->rope};
    for (int i = 0; i < OBS_SIZE; i++) env->observations[i] = now[i];
}

void c_reset(Crane* env) {
    if (env->rng == 0) env->rng = 1;
    env->angle = 0;
    env->rope = 0.5f;
    env->crate = 2 * crane_random(env) - 1;
    env->depth = crane_random(env);
    env->tick = 0;
    crane_see(env);
}

void c_step(Crane* env) {
    env->angle += 0.05f * (env->actions[0] - 1);
    env->rope += 0.05f * (env->actions[1] - 1);
    env->tick++;
    int hit = fabsf(env->angle - env->crate) < 0.1f && fabsf(env->rope - env->depth) < 0.1f;
    int lost = env->tick == 100 || fabsf(env->angle) > 1.5f;
    env->rewards[0] = hit;
    env->terminals[0] = hit || lost;
    if (hit || lost) {
        env->log.perf += hit;
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
    }
    crane_see(env);
}

void c_render(Crane* env) { (void)env; }
void c_close(Crane* env) { (void)env; }
