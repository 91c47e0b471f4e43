// expect: PUF106
// Hop along a row of pegs without falling into a gap. Fault: binding.c reads a key that the ini
// does not give.
#pragma once
#include <stdlib.h>
#include <string.h>

typedef struct Log { float score, episode_return, episode_length, n; } Log;

typedef struct Peg {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int length, gaps, at, tick;
    unsigned char* row;
} Peg;

void peg_init(Peg* env) { env->row = calloc(env->length + 4, 1); }

void peg_view(Peg* env) { memcpy(env->observations, env->row + env->at, 4); }

void c_reset(Peg* env) {
    memset(env->row, 1, env->length + 4);
    for (int i = 0; i < env->gaps; i++) {
        env->rng = env->rng * 1664525u + 1013904223u;
        env->row[2 + 2 * ((env->rng >> 16) % (unsigned int)(env->length / 2 - 1))] = 0;
    }
    env->at = 0;
    env->tick = 0;
    peg_view(env);
}

void c_step(Peg* env) {
    env->rewards[0] = 0;
    env->terminals[0] = 0;
    env->at += 1 + (int)env->actions[0];
    env->tick++;
    int home = env->at >= env->length, fell = !home && !env->row[env->at];
    if (home || fell) {
        env->rewards[0] = home ? 1 : -1;
        env->terminals[0] = 1;
        env->log.score += home;
        env->log.episode_return += env->rewards[0];
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
        return;
    }
    peg_view(env);
}

void c_render(Peg* env) { (void)env; }
void c_close(Peg* env) { free(env->row); }
