// expect: PUF108 PUF504
// A dog drives four sheep to the gate. Fault: the distances are kept in a static scratch array, which
// is filled and read within one step: right on one thread, and on no other.
#pragma once
#include <math.h>

#define SHEEP 4
#define OBS_SIZE (2 + 3 * SHEEP)
#define ACT_SIZES {3, 3}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Herd {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float dog_x, dog_y;
    float x[SHEEP], y[SHEEP];
    int home[SHEEP];
    int tick, inside;
} Herd;

static float scratch[SHEEP];        // from the dog to each sheep

static float uniform(Herd* h) {
    h->rng = h->rng * 1664525u + 1013904223u;
    return 2.0f * (float)(h->rng >> 8) / 16777216.0f - 1.0f;
}

static void measure(Herd* h) {
    for (int i = 0; i < SHEEP; i++)
        scratch[i] = hypotf(h->x[i] - h->dog_x, h->y[i] - h->dog_y);
}

static void observe(Herd* h) {
    float* obs = h->observations;
    measure(h);
    obs[0] = h->dog_x;
    obs[1] = h->dog_y;
    for (int i = 0; i < SHEEP; i++) {
        obs[2 + 3 * i] = h->x[i];
        obs[3 + 3 * i] = h->y[i];
        obs[4 + 3 * i] = scratch[i];
    }
}

void c_reset(Herd* h) {
    h->dog_x = h->dog_y = 0.0f;
    for (int i = 0; i < SHEEP; i++) {
        h->x[i] = uniform(h);
        h->y[i] = uniform(h);
        h->home[i] = 0;
    }
    h->tick = h->inside = 0;
    observe(h);
}

void c_step(Herd* h) {
    h->rewards[0] = 0.0f;
    h->terminals[0] = 0.0f;
    h->tick++;
    h->dog_x = fminf(fmaxf(h->dog_x + 0.1f * (h->actions[0] - 1.0f), -1.0f), 1.0f);
    h->dog_y = fminf(fmaxf(h->dog_y + 0.1f * (h->actions[1] - 1.0f), -1.0f), 1.0f);
    measure(h);
    for (int i = 0; i < SHEEP; i++) {
        if (h->home[i]) continue;
        if (scratch[i] < 0.5f) {                    // it runs away from the dog
            h->x[i] += 0.1f * (h->x[i] - h->dog_x) / (scratch[i] + 0.1f);
            h->y[i] += 0.1f * (h->y[i] - h->dog_y) / (scratch[i] + 0.1f);
        }
        if (h->x[i] > 1.0f) {                       // the gate
            h->home[i] = 1;
            h->inside++;
            h->rewards[0] += 0.25f;
        }
        h->x[i] = fminf(fmaxf(h->x[i], -1.0f), 1.0f);
        h->y[i] = fminf(fmaxf(h->y[i], -1.0f), 1.0f);
    }
    if (h->inside == SHEEP || h->tick >= 300) {
        h->terminals[0] = 1.0f;
        h->log.perf += (float)h->inside / SHEEP;
        h->log.score += (float)h->inside;
        h->log.episode_return += 0.25f * (float)h->inside;
        h->log.episode_length += (float)h->tick;
        h->log.n += 1.0f;
        c_reset(h);
        return;
    }
    observe(h);
}

void c_render(Herd* h) { (void)h; }
void c_close(Herd* h) { (void)h; }
