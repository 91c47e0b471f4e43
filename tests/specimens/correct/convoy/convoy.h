/* An Ocean environment whose binding makes the envs itself (MY_VEC_INIT), with convoys of
 * different lengths that share one table of roads, and an action mask. */
#pragma once
#include <stdlib.h>
#include <string.h>

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Convoy {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* action_mask;
    int num_agents;
    unsigned int rng;
    const unsigned char* roads;     // (ROADS) shared by all, read only
    int* place;
    int tick;
} Convoy;

#define ROADS 32

void convoy_init(Convoy* env) { env->place = calloc(env->num_agents, sizeof(int)); }

void convoy_see(Convoy* env) {
    for (int i = 0; i < env->num_agents; i++) {
        unsigned char* o = env->observations + 3 * i;
        o[0] = env->roads[env->place[i]];
        o[1] = env->roads[(env->place[i] + 1) % ROADS];
        o[2] = i > 0 && env->place[i - 1] == env->place[i];
        unsigned char* mask = env->action_mask + 3 * i;
        mask[0] = 1;
        mask[1] = 1;
        mask[2] = o[1] != 3;
    }
}

void c_reset(Convoy* env) {
    for (int i = 0; i < env->num_agents; i++) env->place[i] = rand() % 8;
    env->tick = 0;
    convoy_see(env);
}

void c_step(Convoy* env) {
    int over = ++env->tick >= 80;
    for (int i = 0; i < env->num_agents; i++) {
        int a = (int)env->actions[i];
        env->place[i] = (env->place[i] + a) % ROADS;
        env->rewards[i] = env->roads[env->place[i]] == 3 ? -0.1f : 0.05f * a;
        env->terminals[i] = over;
        env->log.episode_return += env->rewards[i] / env->num_agents;
    }
    if (over) {
        env->log.episode_length += env->tick;
        env->log.score += 1;
        env->log.n++;
        c_reset(env);
        return;
    }
    convoy_see(env);
}

void c_render(Convoy* env) { (void)env; }
void c_close(Convoy* env) { free(env->place); }
