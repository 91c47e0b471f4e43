// GetTime() in c_step, for a glow that only c_render draws.
#include "raylib.h"
#define OBS_SIZE 1
#define ACT_SIZES {2}

typedef struct Log {
    float perf;
    float score;
    float episode_length;
    float n;
} Log;

typedef struct Glow {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int tick;
    int hits;
    double lit[2];              // when a square was last visited: only c_render looks at it
} Glow;

void c_reset(Glow* env) {
    env->tick = 0;
    env->hits = 0;
    env->observations[0] = 0.0f;
}

void c_step(Glow* env) {
    int right = env->actions[0] == (float)(env->tick & 1);
    env->rewards[0] = right ? 1.0f : 0.0f;
    env->hits += right;
    env->terminals[0] = 0.0f;
    env->log.score += env->rewards[0];
    env->lit[env->tick & 1] = GetTime();
    env->tick++;
    if (env->tick == 16) {
        env->terminals[0] = 1.0f;
        env->log.perf += env->hits / 16.0f;
        env->log.episode_length += 16.0f;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    env->observations[0] = (float)(env->tick & 1);
}

void c_render(Glow* env) {
    for (int i = 0; i < 2; i++)
        DrawRectangle(40 * i, 0, 40, 40, GetTime() - env->lit[i] < 1.0 ? YELLOW : GRAY);
}
void c_close(Glow* env) { (void)env; }
