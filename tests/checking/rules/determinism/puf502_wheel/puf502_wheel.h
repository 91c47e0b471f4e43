// expect: PUF502
// Bet on a wheel of fortune that remembers. Fault: c_reset gives the generator the same number, so
// that every seed, env and episode sees the same spins.
#pragma once
#define SLOTS 5
#define OBS_SIZE (SLOTS + 1)
#define ACT_SIZES {SLOTS}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Wheel {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int seen[SLOTS];
    int spins, hits;
    float purse;
} Wheel;

static int spin(Wheel* w) {
    w->rng ^= w->rng << 13;
    w->rng ^= w->rng >> 17;
    w->rng ^= w->rng << 5;
    return (int)(w->rng % SLOTS);
}

static void look(Wheel* w) {
    for (int i = 0; i < SLOTS; i++) w->observations[i] = (float)w->seen[i] / 20.0f;
    w->observations[SLOTS] = w->purse / 10.0f;
}

void c_reset(Wheel* w) {
    w->rng = 20240229u;
    for (int i = 0; i < SLOTS; i++) w->seen[i] = 0;
    w->spins = w->hits = 0;
    w->purse = 5.0f;
    look(w);
}

void c_step(Wheel* w) {
    int slot = spin(w), bet = (int)w->actions[0];
    w->seen[slot]++;
    w->spins++;
    w->rewards[0] = bet == slot ? 1.0f : -0.25f;
    w->terminals[0] = 0.0f;
    w->hits += bet == slot;
    w->purse += w->rewards[0];
    if (w->purse <= 0.0f || w->spins == 60) {
        w->terminals[0] = 1.0f;
        w->log.perf += (float)w->hits / (float)w->spins;
        w->log.score += w->purse;
        w->log.episode_return += w->purse - 5.0f;
        w->log.episode_length += (float)w->spins;
        w->log.n += 1.0f;
        c_reset(w);
        return;
    }
    look(w);
}

void c_render(Wheel* w) { (void)w; }
void c_close(Wheel* w) { (void)w; }
