// expect: PUF205
// Two karts race round a ring. Fault: gas and steering are clamped in place, in the trainer's buffer.
#pragma once
#include <math.h>

#define KARTS 2
#define OBS_SIZE 5
#define ACT_SIZES {1, 1}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Kart { float angle, radius, speed, paid; } Kart;

typedef struct Ring {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Kart karts[KARTS];
    int tick;
    float laps;             // to win
} Ring;

static float chance(Ring* env) {
    env->rng = env->rng * 1664525u + 1013904223u;
    return (float)(env->rng >> 8) / 16777216.0f;
}

static float clamp(float x, float low, float high) { return fminf(fmaxf(x, low), high); }

static void observe(Ring* env) {
    for (int i = 0; i < KARTS; i++) {
        const Kart *me = &env->karts[i], *other = &env->karts[1 - i];
        float* obs = env->observations + i * OBS_SIZE;
        obs[0] = cosf(me->angle);
        obs[1] = sinf(me->angle);
        obs[2] = me->radius - 1.0f;
        obs[3] = 10.0f * me->speed;
        obs[4] = clamp(other->angle - me->angle, -3.0f, 3.0f);
    }
}

void init(Ring* env) { env->num_agents = KARTS; }

void c_reset(Ring* env) {
    for (int i = 0; i < KARTS; i++)
        env->karts[i] = (Kart){0.1f * chance(env), 0.9f + 0.2f * chance(env), 0.02f, 0.0f};
    env->tick = 0;
    observe(env);
}

void c_step(Ring* env) {
    int winner = -1;
    env->tick++;
    for (int i = 0; i < KARTS; i++) {
        Kart* kart = &env->karts[i];
        float* gas = &env->actions[2 * i];
        float* turn = &env->actions[2 * i + 1];
        *gas = clamp(*gas, -1.0f, 1.0f);
        *turn = clamp(*turn, -1.0f, 1.0f);
        kart->speed = clamp(kart->speed + 0.01f * *gas, 0.0f, 0.1f);
        kart->radius = clamp(kart->radius + 0.02f * *turn, 0.8f, 1.2f);
        kart->angle += kart->speed / kart->radius;
        env->rewards[i] = kart->speed;
        env->terminals[i] = 0.0f;
        kart->paid += kart->speed;
        if (kart->angle >= 6.2831853f * env->laps) winner = i;
    }
    if (winner >= 0 || env->tick >= 400) {
        for (int i = 0; i < KARTS; i++) {
            env->rewards[i] += i == winner ? 1.0f : 0.0f;
            env->terminals[i] = 1.0f;
            env->log.perf += i == winner;
            env->log.score += i == winner;
            env->log.episode_return += env->karts[i].paid + (i == winner ? 1.0f : 0.0f);
            env->log.episode_length += (float)env->tick;
            env->log.n += 1.0f;
        }
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Ring* env) { (void)env; }
void c_close(Ring* env) { (void)env; }
