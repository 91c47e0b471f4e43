// expect: PUF323
// Keep a kiln at the right heat; a shift of some hours cuts the episode off. Fault: the final
// observation is written after c_reset, and is that of the next firing.
#pragma once
#define OBS_SIZE 2
#define ACT_SIZES {3}           // less fire, as it is, more
#define HOURS 50

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Kiln {
    Log log;
    float* observations;
    float* final_observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    int num_agents;
    unsigned int rng;
    float heat, fire, paid;
    int hour;
} Kiln;

static float draw(Kiln* k) {
    k->rng = k->rng * 1664525u + 1013904223u;
    return (float)(k->rng >> 8) / 16777216.0f;
}

static void look(Kiln* k, float* out) {
    out[0] = k->heat;
    out[1] = k->fire;
}

void c_reset(Kiln* k) {
    k->heat = draw(k);
    k->fire = 0.5f;
    k->paid = 0.0f;
    k->hour = 0;
    look(k, k->observations);
}

void c_step(Kiln* k) {
    k->fire += 0.1f * (k->actions[0] - 1.0f);
    k->fire = k->fire < 0.0f ? 0.0f : k->fire > 1.0f ? 1.0f : k->fire;
    k->heat += 0.2f * (k->fire - k->heat) + 0.05f * (draw(k) - 0.5f);
    k->hour++;
    int burst = k->heat > 0.95f, late = !burst && k->hour == HOURS;
    k->rewards[0] = burst ? -1.0f : k->heat > 0.6f && k->heat < 0.8f ? 0.1f : 0.0f;
    k->terminals[0] = burst || late ? 1.0f : 0.0f;
    k->truncations[0] = late ? 1.0f : 0.0f;
    k->paid += k->rewards[0];
    if (burst || late) {
        k->log.perf += (float)k->hour / HOURS;
        k->log.score += k->paid;
        k->log.episode_return += k->paid;
        k->log.episode_length += (float)k->hour;
        k->log.n += 1.0f;
        c_reset(k);
        if (late) look(k, k->final_observations);
        return;
    }
    look(k, k->observations);
}

void c_render(Kiln* k) { (void)k; }
void c_close(Kiln* k) { (void)k; }
