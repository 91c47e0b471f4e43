// expect: PUF202
// Switch a tram between tracks as passengers appear. Fault: after many fares the signed counter
// of the timetable overflows: it is multiplied on every stop and never brought back.
#pragma once
#define OBS_SIZE 5
#define ACT_SIZES {4}

typedef struct Log { float score; float episode_length; float n; } Log;

typedef struct Tram {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int track, wanted, left, tick;
    int timetable;
} Tram;

void tram_call(Tram* t) {
    t->timetable = t->timetable * 31 + 7;
    t->rng = t->rng * 69069u + 1u;
    t->wanted = (int)(t->rng >> 30);
    t->left = 3;
}

void tram_show(Tram* t) {
    for (int i = 0; i < 4; i++) t->observations[i] = (i == t->wanted) - 0.5f * (i == t->track);
    t->observations[4] = (float)t->left / 3.0f;
}

void c_reset(Tram* t) {
    t->tick = 0;
    t->track = 0;
    t->timetable = 1;
    tram_call(t);
    tram_show(t);
}

void c_step(Tram* t) {
    t->track = (int)t->actions[0];
    t->rewards[0] = 0;
    t->terminals[0] = 0;
    if (--t->left == 0) {
        t->rewards[0] = t->track == t->wanted ? 1 : -0.25f;
        t->log.score += t->track == t->wanted;
        tram_call(t);
    }
    if (++t->tick == 64) {
        t->terminals[0] = 1;
        t->log.episode_length += 64;
        t->log.n++;
        c_reset(t);
        return;
    }
    tram_show(t);
}

void c_render(Tram* t) { (void)t; }
void c_close(Tram* t) { (void)t; }
