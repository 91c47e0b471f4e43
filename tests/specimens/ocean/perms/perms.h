// Two diggers look for one relic. Each has pointers of its own, which my_setup_perm sets.
#include <stdlib.h>
#include "raylib.h"

typedef struct {
    float perf;
    float episode_length;
    float n;
} Log;

typedef struct {
    float* sees;
    float* digs;
    float* reward;
    float* over;
} Digger;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int tag;
    int boundary_reached;
    Digger diggers[2];
    float depth;
    int tick;
} Perms;

void c_reset(Perms* env) {
    env->tick = 0;
    env->depth = (float)random() / (float)RAND_MAX * 2.0f - 1.0f;
    for (int i = 0; i < 2; i++) env->diggers[i].sees[0] = 0;
}

void c_step(Perms* env) {
    bool found = false;
    env->tick++;
    for (int i = 0; i < 2; i++) {
        Digger* own = &env->diggers[i];
        float miss = own->digs[0] - env->depth;
        own->reward[0] = miss < 0 ? miss : -miss;
        own->sees[0] = miss > 0;
        found = found || own->reward[0] > -0.05f;
    }
    if (found || env->tick >= 20) {
        for (int i = 0; i < 2; i++) env->diggers[i].over[0] = 1;
        env->boundary_reached = env->tag > 0;
        env->log.perf += found;
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
    }
}

void c_render(Perms* env) { (void)env; }
void c_close(Perms* env) { (void)env; }
