/* corridor.h -- walkers go to their goals, `level` fields to the left or right, and begin again. */
#include <stdlib.h>

#define OBS_SIZE 2
#define ACT_SIZES {2}

typedef struct Log {
    float score, episode_length, level, n;
} Log;

typedef struct Walker {
    int x, goal, t;
} Walker;

typedef struct Corridor {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    float* final_observations;
    int num_agents;
    unsigned int rng;
    int level, limit, walkers, endless;
    Walker* all;
} Corridor;

static void begin(Corridor* env, int i) {
    env->rng = env->rng * 1103515245u + 12345u;
    env->all[i] = (Walker){0, env->rng >> 31 ? env->level : -env->level, 0};
}

static void look(Corridor* env) {
    for (int i = 0; i < env->num_agents; i++) {
        env->observations[2 * i] = env->all[i].x / 20.0f;
        env->observations[2 * i + 1] = env->all[i].goal / 20.0f;
    }
}

void init(Corridor* env) {
    env->num_agents = env->walkers;
    env->all = (Walker*)calloc(env->walkers, sizeof(Walker));
}

void c_reset(Corridor* env) {
    for (int i = 0; i < env->num_agents; i++) begin(env, i);
    look(env);
}

void c_step(Corridor* env) {
    for (int i = 0; i < env->num_agents; i++) {
        Walker* walker = &env->all[i];
        walker->x += env->actions[i] > 0.5f ? 1 : -1;
        walker->t++;
        int there = walker->x == walker->goal, late = walker->t >= env->limit;
        env->rewards[i] = there;
        env->terminals[i] = env->truncations[i] = 0;
        if (env->endless || !(there || late)) continue;
        env->terminals[i] = 1;
        env->truncations[i] = !there;
        env->final_observations[2 * i] = walker->x / 20.0f;
        env->final_observations[2 * i + 1] = walker->goal / 20.0f;
        env->log.score += there;
        env->log.episode_length += walker->t;
        env->log.level += env->level;
        env->log.n++;
        begin(env, i);
    }
    look(env);
}

void c_render(Corridor* env) { (void)env; }
void c_close(Corridor* env) { free(env->all); }
