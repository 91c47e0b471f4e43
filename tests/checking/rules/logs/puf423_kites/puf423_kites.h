// expect: PUF423
// Hold a kite against gusts until the line breaks. Fault: nothing ever adds to Log.score.
#pragma once
#define OBS_SIZE 2
#define ACT_SIZES {3}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Kites {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int gust, pull, held;
} Kites;

static int blow(Kites* k) {
    k->rng = k->rng * 1664525u + 1013904223u;
    return (int)((k->rng >> 16) % 9u) - 4;
}

static void feel(Kites* k) {
    k->observations[0] = (float)k->gust / 4.0f;
    k->observations[1] = (float)k->pull / 4.0f;
}

void c_reset(Kites* k) {
    k->held = 0;
    k->pull = 0;
    k->gust = blow(k);
    feel(k);
}

void c_step(Kites* k) {
    k->terminals[0] = 0.0f;
    k->pull += (int)k->actions[0] - 1;
    k->pull = k->pull < -4 ? -4 : k->pull > 4 ? 4 : k->pull;
    k->held++;
    k->rewards[0] = 0.1f;
    int apart = k->gust - k->pull;
    k->gust = blow(k);
    if (apart > 5 || apart < -5) {
        k->terminals[0] = 1.0f;
        k->log.perf += k->held > 99 ? 1.0f : (float)k->held / 99.0f;
        k->log.episode_return += 0.1f * (float)k->held;
        k->log.episode_length += (float)k->held;
        k->log.n += 1.0f;
        c_reset(k);
        return;
    }
    feel(k);
}

void c_render(Kites* k) { (void)k; }
void c_close(Kites* k) { (void)k; }
