// expect: PUF306
/* Three divers look for pearls. Bytes all through. Fault: a lucky diver's bag holds more pearls
 * than the header promises, because the limit is checked for a lone pearl and not for a pair. */
#pragma once
#include <string.h>
#define DIVERS 3
#define DEPTHS 12
#define BAG 6
enum { OBS_DEPTH /* [0, 11] */, OBS_BAG /* [0, 6] */, OBS_AIR /* [0, 40] */, OBS_END };
#define OBS_SIZE OBS_END
#define ACT_SIZES {4}

typedef struct Log { float perf, score, episode_return, n; } Log;

typedef struct Divers {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int depth[DIVERS], bag[DIVERS], air[DIVERS];
    float gained[DIVERS];
} Divers;

void init(Divers* env) { env->num_agents = DIVERS; }

static int dice(Divers* env, int sides) {
    env->rng = env->rng * 69069u + 1u;
    return (int)((env->rng >> 16) % (unsigned)sides);
}

static void show(Divers* env, int i) {
    unsigned char* row = env->observations + i * OBS_SIZE;
    row[OBS_DEPTH] = (unsigned char)env->depth[i];
    row[OBS_BAG] = (unsigned char)env->bag[i];
    row[OBS_AIR] = (unsigned char)env->air[i];
}

static void dive(Divers* env, int i) {
    env->depth[i] = 0;
    env->bag[i] = 0;
    env->air[i] = 30 + dice(env, 11);
    env->gained[i] = 0;
    show(env, i);
}

void c_reset(Divers* env) {
    for (int i = 0; i < DIVERS; i++) dive(env, i);
}

void c_step(Divers* env) {
    for (int i = 0; i < DIVERS; i++) {
        int a = (int)env->actions[i];
        env->rewards[i] = env->terminals[i] = 0;
        if (a == 0 && env->depth[i] > 0) env->depth[i]--;
        if (a == 1 && env->depth[i] < DEPTHS - 1) env->depth[i]++;
        if (a == 2 && env->bag[i] < BAG && dice(env, 14) < env->depth[i]) {
            env->bag[i] += 1 + (dice(env, 3) == 0);
        }
        if (env->depth[i] == 0 && env->bag[i] > 0) {
            env->rewards[i] = 0.25f * env->bag[i];
            env->bag[i] = 0;
        }
        env->gained[i] += env->rewards[i];
        if (--env->air[i] == 0) {
            env->terminals[i] = 1;
            env->log.perf += env->gained[i] > 1;
            env->log.score += env->gained[i];
            env->log.episode_return += env->gained[i];
            env->log.n++;
            dive(env, i);
        }
        show(env, i);
    }
}

void c_render(Divers* env) { (void)env; }
void c_close(Divers* env) { (void)env; }
