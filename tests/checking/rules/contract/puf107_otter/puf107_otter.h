// expect: PUF107
// An otter dives for clams and must come up for air. Fault: the standalone program still has the
// pond and the lungs of an older version, and the policy is watched in a game it never saw.
#pragma once

#define OBS_SIZE 4
enum { SWIM_UP, REST, SWIM_DOWN, ACTS };
#define ACT_SIZES {ACTS}

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Otter {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    // from [env]
    int depth;                  // of the pond, in metres
    float lungs;                // seconds of air
    // state
    float air, clams;
    int at, clam, tick;
} Otter;

static unsigned int otter_draw(Otter* o, unsigned int n) {
    o->rng ^= o->rng << 13, o->rng ^= o->rng >> 17, o->rng ^= o->rng << 5;
    return o->rng % n;
}

static void otter_sense(Otter* o) {
    o->observations[0] = (float)o->at / (float)o->depth;
    o->observations[1] = (float)(o->clam - o->at) / (float)o->depth;
    o->observations[2] = o->air / o->lungs;
    o->observations[3] = (float)o->tick / 200.0f;
}

void c_reset(Otter* o) {
    if (o->rng == 0) o->rng = 1;
    o->at = 0;
    o->air = o->lungs;
    o->clams = 0.0f;
    o->tick = 0;
    o->clam = 1 + (int)otter_draw(o, (unsigned int)o->depth);
    otter_sense(o);
}

void c_step(Otter* o) {
    int move = (int)o->actions[0];
    o->rewards[0] = 0.0f;
    o->terminals[0] = 0.0f;
    if (move == SWIM_UP && o->at > 0) o->at--;
    if (move == SWIM_DOWN && o->at < o->depth) o->at++;
    o->air = o->at == 0 ? o->lungs : o->air - 1.0f;
    if (o->at == o->clam) {
        o->rewards[0] = 1.0f;
        o->clams += 1.0f;
        o->clam = 1 + (int)otter_draw(o, (unsigned int)o->depth);
    }
    int drowned = o->air < 0.0f;
    if (drowned || ++o->tick >= 200) {
        if (drowned) o->rewards[0] -= 1.0f;
        o->terminals[0] = 1.0f;
        o->log.perf += drowned ? 0.0f : 1.0f;
        o->log.score += o->clams;
        o->log.episode_return += o->clams - (float)drowned;
        o->log.episode_length += (float)(o->tick + drowned);
        o->log.n += 1.0f;
        c_reset(o);
        return;
    }
    otter_sense(o);
}

void c_render(Otter* o) { (void)o; }
void c_close(Otter* o) { (void)o; }
