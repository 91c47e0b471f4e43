// expect: PUF505
// Focus a lens. Fault: a pragma lets the compiler reorder sums, so that -O0 and -O2 give other digits,
// and after a while another game.
#pragma once
#include <math.h>

#define RAYS 16
#define OBS_SIZE 4
#define ACT_SIZES {3}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Lens {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float ray[RAYS];        // where each ray arrives
    float bend, drift;
    int tick;
    float sum;
} Lens;

static float uniform(Lens* l) {
    l->rng = l->rng * 1664525u + 1013904223u;
    return (float)(l->rng >> 8) / 16777216.0f;
}

#pragma GCC push_options
#pragma GCC optimize("O3", "associative-math", "no-signed-zeros", "no-trapping-math")
static float blur(const Lens* l) {
    float sum = 0.0f;
    for (int i = 0; i < RAYS; i++) sum += l->ray[i] * l->ray[i];
    return sqrtf(sum / RAYS);
}
#pragma GCC pop_options

static void observe(Lens* l) {
    l->observations[0] = blur(l);
    l->observations[1] = l->bend;
    l->observations[2] = l->ray[0];
    l->observations[3] = (float)l->tick / 100.0f;
}

static void trace(Lens* l) {
    for (int i = 0; i < RAYS; i++)
        l->ray[i] = ((float)i / RAYS - 0.5f) * (1.0f + l->bend) + l->drift;
}

void c_reset(Lens* l) {
    l->bend = uniform(l);
    l->drift = uniform(l) - 0.5f;
    l->tick = 0;
    l->sum = 0.0f;
    trace(l);
    observe(l);
}

void c_step(Lens* l) {
    l->terminals[0] = 0.0f;
    l->bend += 0.1f * (l->actions[0] - 1.0f);
    l->bend = fminf(fmaxf(l->bend, -2.0f), 2.0f);
    l->drift *= 0.98f;
    trace(l);
    l->rewards[0] = 0.2f - blur(l);
    l->sum += l->rewards[0];
    int sharp = blur(l) < 0.02f;
    l->tick++;
    if (sharp || l->tick >= 100) {
        l->rewards[0] += (float)sharp;
        l->terminals[0] = 1.0f;
        l->log.perf += (float)sharp;
        l->log.score += (float)sharp;
        l->log.episode_return += l->sum + (float)sharp;
        l->log.episode_length += (float)l->tick;
        l->log.n += 1.0f;
        c_reset(l);
        return;
    }
    observe(l);
}

void c_render(Lens* l) { (void)l; }
void c_close(Lens* l) { (void)l; }
