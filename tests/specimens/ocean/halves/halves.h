// Keep a room warm. Observations of 16 bits: bf16, the upper half of a float's bits.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HOURS 24

typedef struct {
    float perf;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct {
    Log log;
    uint16_t* observations;     // of each agent: temperature, outside, whether the stove is on
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int hour;
    float outside;
    float* inside;              // [num_agents]
    float paid;
} Halves;

static uint16_t to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

void init(Halves* env) { env->inside = (float*)calloc((size_t)env->num_agents, sizeof(float)); }

static void observe(Halves* env) {
    for (int a = 0; a < env->num_agents; a++) {
        env->observations[3 * a] = to_bf16(env->inside[a] / 3.0f);
        env->observations[3 * a + 1] = to_bf16(env->outside);
    }
}

void c_reset(Halves* env) {
    env->hour = 0;
    env->paid = 0.0f;
    env->outside = (float)(rand() % 256) / 256.0f - 1.0f;
    for (int a = 0; a < env->num_agents; a++) {
        env->inside[a] = 0.0f;
        env->observations[3 * a + 2] = to_bf16(0.0f);
    }
    observe(env);
}

void c_step(Halves* env) {
    for (int a = 0; a < env->num_agents; a++) {
        int turn = (int)env->actions[a];        // 0: nothing, 1: on, 2: off
        if (turn) env->observations[3 * a + 2] = to_bf16(turn == 1 ? 1.0f : 0.0f);
        float heat = env->observations[3 * a + 2] ? 0.3f : 0.0f;    // the row remembers
        env->inside[a] += heat + 0.1f * (env->outside - env->inside[a]);
        env->rewards[a] = env->inside[a] > -0.5f && env->inside[a] < 0.5f ? 1.0f : 0.0f;
        env->paid += env->rewards[a] / (float)env->num_agents;
    }
    if (++env->hour == HOURS) {
        for (int a = 0; a < env->num_agents; a++) env->terminals[a] = 1.0f;
        env->log.perf += env->paid / HOURS;
        env->log.episode_return += env->paid;
        env->log.episode_length += HOURS;
        env->log.n++;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Halves* env) { (void)env; }
void c_close(Halves* env) { free(env->inside); }
