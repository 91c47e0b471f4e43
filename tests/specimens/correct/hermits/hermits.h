// Hermits gather herbs and each goes its own way: episodes of agents end one by one, each is
// logged as its own, and the neighbours go on. Patience, a byte, falls to 0 and stays there.
#pragma once
#include <string.h>
#define HERMITS 3
#define SIDE 6
#define OBS_SIZE 5
#define ACT_SIZES {4}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Hermit { int at, herb, patience, tick; float sum; } Hermit;

typedef struct Hermits {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Hermit hermits[HERMITS];
} Hermits;

void init(Hermits* env) { env->num_agents = HERMITS; }

static int cell(Hermits* env) {
    env->rng = env->rng * 69069u + 1u;
    return (int)((env->rng >> 16) % (SIDE * SIDE));
}

static void see(Hermits* env, int i) {
    Hermit* h = &env->hermits[i];
    unsigned char* o = env->observations + OBS_SIZE * i;
    o[0] = (unsigned char)(h->at % SIDE);
    o[1] = (unsigned char)(h->at / SIDE);
    o[2] = (unsigned char)(h->herb % SIDE);
    o[3] = (unsigned char)(h->herb / SIDE);
    o[4] = (unsigned char)(h->patience > 0 ? h->patience : 0);
}

static void settle(Hermits* env, int i) {
    env->hermits[i] = (Hermit){cell(env), cell(env), 250, 0, 0.0f};
    see(env, i);
}

void c_reset(Hermits* env) {
    for (int i = 0; i < HERMITS; i++) settle(env, i);
}

void c_step(Hermits* env) {
    for (int i = 0; i < HERMITS; i++) {
        Hermit* h = &env->hermits[i];
        int a = (int)env->actions[i], x = h->at % SIDE, y = h->at / SIDE;
        x += (a == 0) - (a == 1);
        y += (a == 2) - (a == 3);
        env->rewards[i] = 0.0f;
        env->terminals[i] = 0.0f;
        h->tick++;
        h->patience -= 7;
        if (x >= 0 && y >= 0 && x < SIDE && y < SIDE) h->at = y * SIDE + x;
        if (h->at == h->herb) {
            env->rewards[i] = h->patience > 0 ? 1.0f : 0.5f;
            h->herb = cell(env);
            h->patience = 250;
        }
        h->sum += env->rewards[i];
        if (h->patience < -400 || h->sum >= 5.0f) {
            env->terminals[i] = 1.0f;
            env->log.perf += h->sum >= 5.0f ? 1.0f : h->sum / 5.0f;
            env->log.score += h->sum;
            env->log.episode_return += h->sum;
            env->log.episode_length += (float)h->tick;
            env->log.n += 1.0f;
            settle(env, i);
        }
        see(env, i);
    }
}

void c_render(Hermits* env) { (void)env; }
void c_close(Hermits* env) { (void)env; }
