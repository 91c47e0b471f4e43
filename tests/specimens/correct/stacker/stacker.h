// Stack blocks that swing past. Chance at every step, a fixed start, and an episode that is reset
// by a helper which c_reset calls too; one field is written only when it changes.
#pragma once
#include <string.h>
#define LEVELS 8
#define OBS_SIZE (LEVELS + 3)
#define ACT_SIZES {2}
typedef struct Log {
    float perf;
    float score;
    float episode_length;
    float n;
} Log;
static inline float roll(unsigned int* rng) {      // [0, 1)
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

typedef struct Stacker {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float swing, wind;
    float edge[LEVELS];
    int level, tick;
} Stacker;

static void watch_block(Stacker* s) {
    s->observations[LEVELS] = s->swing;
    s->observations[LEVELS + 1] = s->wind;
}

static void clear_tower(Stacker* s) {
    memset(s->edge, 0, sizeof s->edge);
    memset(s->observations, 0, OBS_SIZE * sizeof(float));
    s->swing = -1.0f;
    s->wind = 0.0f;
    s->level = s->tick = 0;
    watch_block(s);
}

void c_reset(Stacker* s) { clear_tower(s); }

void c_step(Stacker* s) {
    s->rewards[0] = 0.0f;
    s->terminals[0] = 0.0f;
    s->wind = 0.9f * s->wind + 0.1f * (roll(&s->rng) - 0.5f);
    s->swing += 0.2f + s->wind;
    if (s->swing > 1.0f) s->swing = -1.0f;
    s->tick++;
    float below = s->level > 0 ? s->edge[s->level - 1] : 0.0f;
    if (s->actions[0] > 0.5f) {
        float miss = s->swing - below;
        int fell = miss > 0.5f || miss < -0.5f;
        s->rewards[0] = fell ? -1.0f : 0.2f;
        if (!fell) {
            s->edge[s->level] = s->swing;
            s->observations[s->level] = s->swing;
            s->level++;
            s->observations[LEVELS + 2] = (float)s->level / LEVELS;
        }
        if (fell || s->level == LEVELS) {
            s->terminals[0] = 1.0f;
            s->log.perf += (float)s->level / LEVELS;
            s->log.score += (float)s->level;
            s->log.episode_length += (float)s->tick;
            s->log.n += 1.0f;
            clear_tower(s);
            return;
        }
    }
    watch_block(s);
}

void c_render(Stacker* s) { (void)s; }
void c_close(Stacker* s) { (void)s; }
