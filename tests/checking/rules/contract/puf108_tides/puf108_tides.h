// expect: PUF108
// Bring a barge into harbour at high water. Fault: the tide table is filled by whichever env
// comes first, while others may be reading it on another thread.
#pragma once
#include <math.h>
#include <stdbool.h>

#define HOURS 48
#define OBS_SIZE 5
#define ACT_SIZES {3}       // wait, go on, turn back

typedef struct Log {
    float perf;             // [0, 1] share of barges that came in
    float score;
    float episode_return;
    float episode_length;   // hours
    float n;
} Log;

static float tide_table[HOURS];
static bool have_tides;

typedef struct Tides {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int hour, tick, distance;
    float draught;
} Tides;

static float tide(int hour) {
    if (!have_tides) {
        for (int h = 0; h < HOURS; h++) {
            tide_table[h] = 2.0f + sinf(6.2831853f * (float)h / 12.4f);
        }
        have_tides = true;
    }
    return tide_table[hour % HOURS];
}

static void look_out(Tides* t) {
    float* o = t->observations;
    *o++ = (float)t->distance / 10.0f;
    *o++ = tide(t->hour) / 3.0f;
    *o++ = tide(t->hour + 1) / 3.0f;
    *o++ = t->draught / 3.0f;
    *o++ = (float)t->tick / 60.0f;
}

void c_reset(Tides* t) {
    t->rng = t->rng * 22695477u + 1u;
    t->hour = (int)(t->rng >> 20) % HOURS;
    t->draught = 1.2f + (float)((t->rng >> 8) & 1023) / 800.0f;
    t->distance = 3 + (int)((t->rng >> 18) & 3);
    t->tick = 0;
    look_out(t);
}

void c_step(Tides* t) {
    int order = (int)t->actions[0];
    if (order == 1) t->distance--;
    if (order == 2 && t->distance < 10) t->distance++;
    t->hour++;
    t->tick++;
    bool aground = t->distance <= 1 && tide(t->hour) < t->draught;
    bool home = t->distance == 0 && !aground;
    bool over = aground || home || t->tick == 60;
    t->rewards[0] = home ? 1.0f : aground ? -1.0f : 0.0f;
    t->terminals[0] = over ? 1.0f : 0.0f;
    if (over) {
        t->log.perf += home ? 1.0f : 0.0f;
        t->log.score += t->rewards[0];
        t->log.episode_return += t->rewards[0];
        t->log.episode_length += (float)t->tick;
        t->log.n += 1.0f;
        c_reset(t);
        return;
    }
    look_out(t);
}

void c_render(Tides* t) { (void)t; }
void c_close(Tides* t) { (void)t; }
