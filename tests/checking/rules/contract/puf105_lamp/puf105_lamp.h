// expect: PUF105
// Keep a lamp's oil burning through the night. Fault: in the ini, a key that nothing reads.
#pragma once
#define OBS_SIZE 3
#define ACT_SIZES {3}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Lamp {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int max_ticks;          // [env]
    float wick;             // [env]
    float oil, flame, wind;
    int tick;
    float sum;
} Lamp;

static void lamp_observe(Lamp* lamp) {
    lamp->observations[0] = lamp->oil;
    lamp->observations[1] = lamp->flame;
    lamp->observations[2] = lamp->wind;
}

void c_reset(Lamp* lamp) {
    lamp->oil = 1.0f;
    lamp->flame = 0.5f;
    lamp->wind = 0.0f;
    lamp->tick = 0;
    lamp->sum = 0.0f;
    lamp_observe(lamp);
}

void c_step(Lamp* lamp) {
    lamp->rng = lamp->rng * 1664525u + 1013904223u;
    lamp->wind = 0.9f * lamp->wind + 0.1f * ((float)(lamp->rng >> 24) / 255.0f);
    lamp->flame += 0.05f * (lamp->actions[0] - 1.0f) - 0.02f * lamp->wind;
    lamp->oil -= lamp->wick * lamp->flame;
    lamp->tick += 1;
    int out = lamp->flame <= 0.0f || lamp->oil <= 0.0f || lamp->flame > 1.0f;
    int dawn = lamp->tick >= lamp->max_ticks;
    lamp->rewards[0] = out ? -1.0f : lamp->flame * 0.02f;
    lamp->terminals[0] = out || dawn ? 1.0f : 0.0f;
    lamp->sum += lamp->rewards[0];
    if (out || dawn) {
        lamp->log.perf += dawn && !out;
        lamp->log.score += lamp->sum;
        lamp->log.episode_return += lamp->sum;
        lamp->log.episode_length += (float)lamp->tick;
        lamp->log.n += 1.0f;
        c_reset(lamp);
        return;
    }
    lamp_observe(lamp);
}

void c_render(Lamp* lamp) { (void)lamp; }
void c_close(Lamp* lamp) { (void)lamp; }
