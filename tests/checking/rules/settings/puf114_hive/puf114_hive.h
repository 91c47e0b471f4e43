// expect: PUF114
// Bees fly to flowers. Fault: the number of flowers is a setting, the array in the struct has room
// for six.
#pragma once
#include <math.h>

#define MOST 6
#define OBS_SIZE 5
#define ACT_SIZES {5}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Flower { float x, y; int nectar; } Flower;

typedef struct Hive {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int bees;
    int flowers;
    Flower flower[MOST];
    float x[4], y[4];       // of the bees
    int left, tick, sips;
} Hive;

static float uniform(Hive* h) {
    h->rng = h->rng * 1664525u + 1013904223u;
    return (float)(h->rng >> 8) / 16777216.0f;
}

void init(Hive* h) {
    if (h->bees > 4) h->bees = 4;
    h->num_agents = h->bees;
}

static int nearest(Hive* h, int bee) {
    int best = 0;
    float least = 1e9f;
    for (int i = 0; i < h->flowers; i++) {
        float d = hypotf(h->flower[i].x - h->x[bee], h->flower[i].y - h->y[bee]);
        if (h->flower[i].nectar > 0 && d < least) {
            least = d;
            best = i;
        }
    }
    return best;
}

static void observe(Hive* h) {
    for (int b = 0; b < h->bees; b++) {
        const Flower* f = &h->flower[nearest(h, b)];
        float* obs = h->observations + b * OBS_SIZE;
        obs[0] = h->x[b];
        obs[1] = h->y[b];
        obs[2] = f->x - h->x[b];
        obs[3] = f->y - h->y[b];
        obs[4] = (float)f->nectar / 3.0f;
    }
}

void c_reset(Hive* h) {
    for (int i = 0; i < h->flowers; i++)
        h->flower[i] = (Flower){uniform(h), uniform(h), 3};
    for (int b = 0; b < h->bees; b++) {
        h->x[b] = uniform(h);
        h->y[b] = uniform(h);
    }
    h->left = 3 * h->flowers;
    h->tick = h->sips = 0;
    observe(h);
}

void c_step(Hive* h) {
    static const float dx[5] = {0, 0.05f, -0.05f, 0, 0}, dy[5] = {0, 0, 0, 0.05f, -0.05f};
    for (int b = 0; b < h->bees; b++) {
        int a = (int)h->actions[b];
        h->rewards[b] = 0.0f;
        h->terminals[b] = 0.0f;
        h->x[b] = fminf(fmaxf(h->x[b] + dx[a], 0.0f), 1.0f);
        h->y[b] = fminf(fmaxf(h->y[b] + dy[a], 0.0f), 1.0f);
        Flower* f = &h->flower[nearest(h, b)];
        if (f->nectar > 0 && hypotf(f->x - h->x[b], f->y - h->y[b]) < 0.1f) {
            f->nectar--;
            h->left--;
            h->sips++;
            h->rewards[b] = 1.0f;
        }
    }
    h->tick++;
    if (h->left <= 0 || h->tick >= 200) {
        for (int b = 0; b < h->bees; b++) h->terminals[b] = 1.0f;
        h->log.perf += (float)h->sips / (float)(3 * h->flowers);
        h->log.score += (float)h->sips;
        h->log.episode_return += (float)h->sips / (float)h->bees;
        h->log.episode_length += (float)h->tick;
        h->log.n += 1.0f;
        c_reset(h);
        return;
    }
    observe(h);
}

void c_render(Hive* h) { (void)h; }
void c_close(Hive* h) { (void)h; }
