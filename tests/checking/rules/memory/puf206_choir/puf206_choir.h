// expect: PUF206
// Singers look for a common pitch. Fault: init allocates two arrays, c_close frees one.
#pragma once
#include <math.h>
#include <stdlib.h>

#define OBS_SIZE 3
#define ACT_SIZES {3}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Choir {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int singers;
    float* pitch;           // (singers)
    float* breath;          // (singers)
    float sum;
    int tick;
} Choir;

static float uniform(Choir* c) {
    c->rng ^= c->rng << 13;
    c->rng ^= c->rng >> 17;
    c->rng ^= c->rng << 5;
    return (float)(c->rng >> 8) / 16777216.0f;
}

void init(Choir* c) {
    c->num_agents = c->singers;
    c->pitch = (float*)calloc((size_t)c->singers, sizeof(float));
    c->breath = (float*)calloc((size_t)c->singers, sizeof(float));
}

static float mean_pitch(const Choir* c) {
    float sum = 0.0f;
    for (int i = 0; i < c->singers; i++) sum += c->pitch[i];
    return sum / (float)c->singers;
}

static void listen(Choir* c) {
    float mean = mean_pitch(c);
    for (int i = 0; i < c->singers; i++) {
        float* heard = c->observations + i * OBS_SIZE;
        heard[0] = c->pitch[i];
        heard[1] = c->pitch[i] - mean;
        heard[2] = c->breath[i];
    }
}

void c_reset(Choir* c) {
    for (int i = 0; i < c->singers; i++) {
        c->pitch[i] = 2.0f * uniform(c) - 1.0f;
        c->breath[i] = 0.5f + 0.5f * uniform(c);
    }
    c->sum = 0.0f;
    c->tick = 0;
    listen(c);
}

void c_step(Choir* c) {
    float mean = mean_pitch(c), worst = 0.0f;
    for (int i = 0; i < c->singers; i++) {
        int a = (int)c->actions[i];
        c->breath[i] = c->breath[i] < 0.01f ? 1.0f : c->breath[i] - 0.01f;
        c->pitch[i] += 0.05f * (float)(a - 1) * c->breath[i] + 0.01f * (uniform(c) - 0.5f);
        c->pitch[i] = fminf(fmaxf(c->pitch[i], -1.5f), 1.5f);
        float off = fabsf(c->pitch[i] - mean);
        worst = fmaxf(worst, off);
        c->rewards[i] = -0.1f * off;
        c->terminals[i] = 0.0f;
        c->sum += c->rewards[i];
    }
    c->tick++;
    int together = worst < 0.25f;
    if (together || c->tick >= 250) {
        for (int i = 0; i < c->singers; i++) {
            c->rewards[i] += (float)together;
            c->terminals[i] = 1.0f;
        }
        c->log.perf += (float)together;
        c->log.score += (float)together;
        c->log.episode_return += c->sum / (float)c->singers + (float)together;
        c->log.episode_length += (float)c->tick;
        c->log.n += 1.0f;
        c_reset(c);
        return;
    }
    listen(c);
}

void c_render(Choir* c) { (void)c; }

void c_close(Choir* c) {
    free(c->pitch);
}
