// expect: PUF701 (--learn)
// Rhythm: a note falls in one of four lanes, hit it. The longer the combo, the shorter the time
// that is left for the next note, and after 24 hits in a row there is none. Random play does not
// come near 24; a policy that can play does, and the square root of less than nothing is NaN.
#pragma once
#include <math.h>
#include <string.h>

#define LANES 4
#define SONG 96                 // notes of an episode
#define OBS_SIZE (LANES + 2)    // the lane, one-hot; time left; how much of the song is over
#define ACT_SIZES {LANES}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Rhythm {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int lane, combo, hits, note;
} Rhythm;

static int next_lane(Rhythm* r) {
    r->rng = r->rng * 1664525u + 1013904223u;
    return (int)(r->rng >> 30);
}

static void show(Rhythm* r) {
    memset(r->observations, 0, OBS_SIZE * sizeof(float));
    r->observations[r->lane] = 1.0f;
    r->observations[LANES] = sqrtf(1.0f - (float)r->combo / 24.0f);
    r->observations[LANES + 1] = (float)r->note / SONG;
}

void c_reset(Rhythm* r) {
    r->combo = r->hits = r->note = 0;
    r->lane = next_lane(r);
    show(r);
}

void c_step(Rhythm* r) {
    int hit = (int)r->actions[0] == r->lane;
    r->combo = hit ? r->combo + 1 : 0;
    r->hits += hit;
    r->note++;
    r->rewards[0] = hit ? 0.1f : 0.0f;
    r->terminals[0] = r->note == SONG ? 1.0f : 0.0f;
    if (r->note == SONG) {
        r->log.perf += (float)r->hits / SONG;
        r->log.score += (float)r->hits;
        r->log.episode_return += 0.1f * (float)r->hits;
        r->log.episode_length += SONG;
        r->log.n += 1.0f;
        c_reset(r);
        return;
    }
    r->lane = next_lane(r);
    show(r);
}

void c_render(Rhythm* r) { (void)r; }
void c_close(Rhythm* r) { (void)r; }
