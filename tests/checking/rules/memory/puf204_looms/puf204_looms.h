// expect: PUF204
/* Three looms weave to a pattern: a colour (head 0) and a tension (head 1) each step. Fault: ids
 * were counted from 1, so that "tight" is an id that the second head of width 3 does not have. */
#pragma once
#define LOOMS 3
#define COLOURS 4
#define TENSIONS 3
#define OBS_SIZE 5
#define ACT_SIZES {COLOURS, TENSIONS}
#define SLACK 1
#define MEDIUM 2
#define TIGHT 3

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Looms {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int wanted[LOOMS], row[LOOMS];
    float wear[LOOMS], got[LOOMS];
} Looms;

void init(Looms* l) { l->num_agents = LOOMS; }

static void next_thread(Looms* l, int i) {
    l->rng = l->rng * 1664525u + 1013904223u;
    l->wanted[i] = (int)(l->rng >> 30);
}

static void start_cloth(Looms* l, int i) {
    l->row[i] = 0;
    l->wear[i] = l->got[i] = 0.0f;
    next_thread(l, i);
}

static void show(Looms* l, int i) {
    float* view = &l->observations[i * OBS_SIZE];
    for (int c = 0; c < COLOURS; c++) view[c] = l->wanted[i] == c ? 1.0f : 0.0f;
    view[COLOURS] = l->wear[i];
}

void c_reset(Looms* l) {
    for (int i = 0; i < LOOMS; i++) {
        start_cloth(l, i);
        show(l, i);
    }
}

void c_step(Looms* l) {
    for (int i = 0; i < LOOMS; i++) {
        float* chosen = l->actions + 2 * i;
        const int colour = (int)chosen[0];
        const int tension = (int)chosen[1];
        float strain = 0.01f;
        if (tension == SLACK) strain = 0.005f;
        else if (tension == MEDIUM) strain = 0.02f;
        else if (tension == TIGHT) strain = 0.05f;
        l->wear[i] += strain;
        l->row[i]++;
        float gain = colour == l->wanted[i] ? 10.0f * strain : -0.05f;
        l->rewards[i] = gain;
        l->got[i] += gain;
        int torn = l->wear[i] > 0.95f;
        l->terminals[i] = (float)torn;
        if (torn) {
            l->log.perf += l->got[i] > 0.0f ? 1.0f : 0.0f;
            l->log.score += l->got[i];
            l->log.episode_return += l->got[i];
            l->log.episode_length += (float)l->row[i];
            l->log.n += 1.0f;
            start_cloth(l, i);
        } else {
            next_thread(l, i);
        }
        show(l, i);
    }
}

void c_render(Looms* l) { (void)l; }
void c_close(Looms* l) { (void)l; }
