// A long walk in short episodes: the hut is up to 63 steps away, a rest is sweet, and a time limit
// cuts after a few ticks.
#pragma once

enum { OBS_PLACE, OBS_COUNT };      // [0, 1] of the way
#define OBS_SIZE OBS_COUNT

enum { ACT_REST, ACT_ON, ACT_COUNT };
#define ACT_SIZES {ACT_COUNT}

#define HUT 63

typedef struct Log {
    float score;                    // 1 where it arrived
    float episode_length;
    float n;
} Log;

typedef struct Trek {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    int num_agents;
    unsigned int rng;
    int max_steps;                  // [1, 10000]
    float rest;                     // [0, 1] for each tick of it
    int place, tick;
} Trek;

static void observe(Trek* env) { env->observations[OBS_PLACE] = (float)env->place / HUT; }

void c_reset(Trek* env) {
    env->rng = env->rng * 1664525u + 1013904223u;
    env->place = (int)(env->rng >> 8) % HUT;
    env->tick = 0;
    observe(env);
}

void c_step(Trek* env) {
    int on = env->actions[0] == ACT_ON;
    env->place += on;
    env->tick++;
    int there = env->place == HUT, late = !there && env->tick >= env->max_steps;
    env->rewards[0] = there ? 1.0f : on ? 0.0f : env->rest;
    env->terminals[0] = (float)(there || late);
    env->truncations[0] = (float)late;
    if (there || late) {
        env->log.score += (float)there;
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Trek* env) { (void)env; }

void c_close(Trek* env) { (void)env; }
