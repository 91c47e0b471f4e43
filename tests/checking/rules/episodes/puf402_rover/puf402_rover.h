// expect: PUF402
// Two rovers collect samples on a plain with craters. Nothing ever ends. Fault: a rover that
// drives into a crater cannot leave it, and nobody pulls it out.
#pragma once
#include <math.h>
#include <stdbool.h>
#define ROVERS 2
#define CRATERS 3
#define OBS_SIZE (4 + 2 * CRATERS)
#define ACT_SIZES {3}
typedef struct Log { float score; float episode_return; float episode_length; float n; } Log;

typedef struct Rover { float x, y, heading; bool trapped; int since; } Rover;

typedef struct Field {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Rover rovers[ROVERS];
    float crater[CRATERS][2];
    float sample[ROVERS][2];
} Field;

void init(Field* f) { f->num_agents = ROVERS; }

static float roll(Field* f) {
    f->rng = f->rng * 1664525u + 1013904223u;
    return 2.0f * (float)(f->rng >> 8) / 16777216.0f - 1.0f;
}

static void observe(Field* f, int i) {
    Rover* r = &f->rovers[i];
    float* o = f->observations + i * OBS_SIZE;
    *o++ = f->sample[i][0] - r->x;
    *o++ = f->sample[i][1] - r->y;
    *o++ = cosf(r->heading);
    *o++ = sinf(r->heading);
    for (int c = 0; c < CRATERS; c++) {
        *o++ = f->crater[c][0] - r->x;
        *o++ = f->crater[c][1] - r->y;
    }
}

void c_reset(Field* f) {
    for (int c = 0; c < CRATERS; c++) {
        f->crater[c][0] = (c - 1) * 0.8f;
        f->crater[c][1] = 0.7f * roll(f);
    }
    for (int i = 0; i < ROVERS; i++) {
        f->rovers[i] = (Rover){0.4f, i ? 0.9f : -0.9f, 3.0f * roll(f), false, 0};
        f->sample[i][0] = roll(f);
        f->sample[i][1] = roll(f);
        observe(f, i);
    }
}

void c_step(Field* f) {
    for (int i = 0; i < ROVERS; i++) {
        Rover* r = &f->rovers[i];
        f->rewards[i] = f->terminals[i] = 0.0f;
        r->since++;
        r->heading = remainderf(r->heading + 0.3f * (f->actions[i] - 1.0f), 6.2831853f);
        if (!r->trapped) {
            r->x = fmaxf(-1.0f, fminf(1.0f, r->x + 0.04f * cosf(r->heading)));
            r->y = fmaxf(-1.0f, fminf(1.0f, r->y + 0.04f * sinf(r->heading)));
        }
        for (int c = 0; c < CRATERS; c++) {
            if (hypotf(f->crater[c][0] - r->x, f->crater[c][1] - r->y) < 0.05f) r->trapped = true;
        }
        if (hypotf(f->sample[i][0] - r->x, f->sample[i][1] - r->y) < 0.25f) {
            f->rewards[i] = 1.0f;
            f->log.score += 1.0f;
            f->log.episode_return += 1.0f;
            f->log.episode_length += (float)r->since;
            f->log.n += 1.0f;
            r->since = 0;
            do {
                f->sample[i][0] = roll(f);
                f->sample[i][1] = roll(f);
            } while (hypotf(f->sample[i][0] - r->x, f->sample[i][1] - r->y) < 0.3f);
        }
        observe(f, i);
    }
}

void c_render(Field* f) { (void)f; }
void c_close(Field* f) { (void)f; }
