// expect: PUF104
// Bake loaves before they burn. Faults: a counter in Log is an int, and n is not its last field.
#pragma once
#define OBS_SIZE 2
#define ACT_SIZES {2}

typedef struct Log {
    float score;
    float n;
    int burnt;
} Log;

typedef struct Bakery {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int heat;
    int loaves;
} Bakery;

void c_reset(Bakery* env) {
    env->rng = env->rng * 747796405u + 1u;
    env->heat = (int)(env->rng >> 28);
    env->loaves = 0;
    env->observations[0] = (unsigned char)env->heat;
    env->observations[1] = 0;
}

void c_step(Bakery* env) {
    int taken = env->actions[0] == 1.0f;
    env->heat++;
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    if (taken) {
        env->rewards[0] = env->heat >= 10 && env->heat < 14 ? 1.0f : -0.1f;
        env->heat = 0;
        env->loaves++;
    }
    if (env->heat > 20 || env->loaves == 5) {
        env->log.burnt += env->heat > 20;
        env->log.score += env->loaves;
        env->log.n += 1.0f;
        env->terminals[0] = 1.0f;
        c_reset(env);
        return;
    }
    env->observations[0] = (unsigned char)env->heat;
    env->observations[1] = (unsigned char)env->loaves;
}

void c_render(Bakery* env) { (void)env; }
void c_close(Bakery* env) { (void)env; }
