// expect: PUF315
// Two rafts on a river. One that comes to the landing is paid, and its mate with it. Fault: the
// rewards are cleared raft by raft, so the first one never sees what its mate was paid before it,
// and the second one loses its share.
#pragma once
#define RAFTS 2
#define OBS_SIZE 3
#define ACT_SIZES {3}           // left, drift, right
#define WIDTH 9

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Rafts {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int at[RAFTS], landing, tick;
    float paid;
} Rafts;

static int below(Rafts* r, int count) {
    r->rng = r->rng * 1664525u + 1013904223u;
    return (int)(r->rng >> 8) % count;
}

static void look(Rafts* r) {
    for (int i = 0; i < RAFTS; i++) {
        float* row = r->observations + OBS_SIZE * i;
        row[0] = (float)r->at[i] / WIDTH;
        row[1] = (float)(r->landing - r->at[i]) / WIDTH;
        row[2] = (float)(r->landing - r->at[1 - i]) / WIDTH;
    }
}

void init(Rafts* r) { r->num_agents = RAFTS; }

void c_reset(Rafts* r) {
    r->tick = 0;
    r->paid = 0.0f;
    r->landing = below(r, WIDTH);
    for (int i = 0; i < RAFTS; i++) r->at[i] = below(r, WIDTH);
    look(r);
}

void c_step(Rafts* r) {
    int over = ++r->tick >= 20 + below(r, 20);
    for (int i = 0; i < RAFTS; i++) {
        r->rewards[i] = 0.0f;
        int to = r->at[i] + (int)r->actions[i] - 1;
        r->at[i] = to < 0 ? 0 : to >= WIDTH ? WIDTH - 1 : to;
        r->terminals[i] = over ? 1.0f : 0.0f;
        if (r->at[i] == r->landing) {
            r->landing = below(r, WIDTH);
            r->rewards[i] += 0.5f;
            r->rewards[1 - i] += 0.25f;
        }
    }
    for (int i = 0; i < RAFTS; i++) r->paid += r->rewards[i] / RAFTS;
    if (over) {
        r->log.perf += r->paid > 5.0f ? 1.0f : 0.2f * r->paid;
        r->log.score += r->paid;
        r->log.episode_return += r->paid;
        r->log.episode_length += (float)r->tick;
        r->log.n += 1.0f;
        c_reset(r);
        return;
    }
    look(r);
}

void c_render(Rafts* r) { (void)r; }
void c_close(Rafts* r) { (void)r; }
