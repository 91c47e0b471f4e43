// A bandit with four arms: every step is an episode, and one input is a constant bias.
#pragma once
#define OBS_SIZE 1          // puffer: allow(PUF305) constant bias input
#define ACT_SIZES {4}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;
static inline float roll(unsigned int* rng) {      // [0, 1)
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

typedef struct Bandit {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
} Bandit;

// puffer: allow(PUF305) constant bias input
void c_reset(Bandit* env) { env->observations[0] = 1.0f; }

void c_step(Bandit* env) {
    static const float odds[4] = {0.1f, 0.3f, 0.7f, 0.5f};
    int win = roll(&env->rng) < odds[(int)env->actions[0]];
    env->rewards[0] = win ? 1.0f : 0.0f;
    env->terminals[0] = 1.0f;
    env->log.perf += (float)win;
    env->log.score += (float)win;
    env->log.episode_return += (float)win;
    env->log.episode_length += 1.0f;
    env->log.n += 1.0f;
    c_reset(env);
}

void c_render(Bandit* env) { (void)env; }
void c_close(Bandit* env) { (void)env; }
