// expect: PUF408
// Keep a bell at the depth of a shoal that moves. Fault: there is air for one step, not for 100.
#pragma once
#define OBS_SIZE 2
#define ACT_SIZES {3}
#define AIR 1
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Divers {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int bell, shoal, tick;
    float paid;
} Divers;

static int draw(Divers* d, int below) {
    d->rng = d->rng * 1664525u + 1013904223u;
    return (int)((d->rng >> 16) % (unsigned int)below);
}

static void look(Divers* d) {
    d->observations[0] = (float)d->bell / 10.0f;
    d->observations[1] = (float)d->shoal / 10.0f;
}

void c_reset(Divers* d) {
    d->bell = draw(d, 11);
    d->shoal = draw(d, 11);
    d->tick = 0;
    d->paid = 0.0f;
    look(d);
}

void c_step(Divers* d) {
    d->terminals[0] = 0.0f;
    d->bell += (int)d->actions[0] - 1;
    d->bell = d->bell < 0 ? 0 : d->bell > 10 ? 10 : d->bell;
    int apart = d->bell > d->shoal ? d->bell - d->shoal : d->shoal - d->bell;
    d->rewards[0] = 0.1f * (float)(10 - apart);
    d->paid += d->rewards[0];
    d->shoal = (d->shoal + draw(d, 3) + 10) % 11;
    if (++d->tick >= AIR) {
        d->terminals[0] = 1.0f;
        d->log.perf += d->paid / (float)d->tick;
        d->log.score += d->paid;
        d->log.episode_return += d->paid;
        d->log.episode_length += (float)d->tick;
        d->log.n += 1.0f;
        c_reset(d);
        return;
    }
    look(d);
}

void c_render(Divers* d) { (void)d; }
void c_close(Divers* d) { (void)d; }
