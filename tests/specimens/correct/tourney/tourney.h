// Four wrestlers in one ring. Unusual, and right: a life that is lost sets the terminal, but
// entries are made when the bout is over, one for each wrestler.
#pragma once
#include <math.h>
#define WRESTLERS 4
#define LIVES 3
#define OBS_SIZE 7
#define ACT_SIZES {3, 3}

typedef struct Log { float perf, score, episode_return, n; } Log;

typedef struct Wrestler { float x, y; int lives; float paid; } Wrestler;

typedef struct Tourney {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int frameskip;                  // [env]
    Wrestler w[WRESTLERS];
    int frames;
} Tourney;

void init(Tourney* t) { t->num_agents = WRESTLERS; }

static float chance(Tourney* t) {
    t->rng = t->rng * 1664525u + 1013904223u;
    return (float)(t->rng >> 8) / 16777216.0f;
}

static void enter(Tourney* t, int i) {
    t->w[i].x = 0.8f * (chance(t) - 0.5f);
    t->w[i].y = 0.8f * (chance(t) - 0.5f);
}

static void observe(Tourney* t) {
    for (int i = 0; i < WRESTLERS; i++) {
        float* o = t->observations + OBS_SIZE * i;
        Wrestler *me = &t->w[i], *next = &t->w[(i + 1) % WRESTLERS];
        o[0] = me->x;
        o[1] = me->y;
        o[2] = next->x - me->x;
        o[3] = next->y - me->y;
        for (int k = 0; k < LIVES; k++) o[4 + k] = me->lives > k ? 1.0f : 0.0f;
    }
}

void c_reset(Tourney* t) {
    for (int i = 0; i < WRESTLERS; i++) {
        t->w[i].lives = LIVES;
        t->w[i].paid = 0.0f;
        enter(t, i);
    }
    t->frames = 0;
    observe(t);
}

void c_step(Tourney* t) {
    int over = 0;
    for (int i = 0; i < WRESTLERS; i++) t->rewards[i] = t->terminals[i] = 0.0f;
    for (int f = 0; f < t->frameskip; f++) {
        t->frames++;
        for (int i = 0; i < WRESTLERS; i++) {
            Wrestler *me = &t->w[i], *next = &t->w[(i + 1) % WRESTLERS];
            me->x += 0.02f * (t->actions[2 * i] - 1.0f) + 0.02f * (chance(t) - 0.5f);
            me->y += 0.02f * (t->actions[2 * i + 1] - 1.0f) + 0.02f * (chance(t) - 0.5f);
            if (hypotf(me->x - next->x, me->y - next->y) < 0.1f) next->x += 0.05f;
            if (hypotf(me->x, me->y) < 1.0f) continue;
            t->rewards[i] -= 0.5f;
            t->terminals[i] = 1.0f;
            over = over || --me->lives == 0;
            enter(t, i);
        }
        if (over) break;
    }
    for (int i = 0; i < WRESTLERS; i++) t->w[i].paid += t->rewards[i];
    if (over || t->frames >= 400 * t->frameskip) {
        for (int i = 0; i < WRESTLERS; i++) {
            t->rewards[i] += 0.25f * (float)t->w[i].lives;
            t->terminals[i] = 1.0f;
            t->w[i].paid += 0.25f * (float)t->w[i].lives;
            t->log.perf += (float)t->w[i].lives / LIVES;
            t->log.score += (float)t->w[i].lives;
            t->log.episode_return += t->w[i].paid;
            t->log.n += 1.0f;
        }
        c_reset(t);
        return;
    }
    observe(t);
}

void c_render(Tourney* t) { (void)t; }
void c_close(Tourney* t) { (void)t; }
