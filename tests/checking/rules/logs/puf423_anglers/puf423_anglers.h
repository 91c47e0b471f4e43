// expect: PUF423
// Follow a shoal and strike when it is below. Fault: the catch is counted anew before it is logged.
#pragma once
#define OBS_SIZE 3
#define ACT_SIZES {4}
#define WIDTH 7
typedef struct Log {
    float perf;
    float score;
    float snags;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Net {
    int caught;
} Net;

typedef struct Anglers {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Net net;
    int boat, shoal, tick, line;
    float paid;
} Anglers;

static int draw(Anglers* a, int below) {
    a->rng = a->rng * 1664525u + 1013904223u;
    return (int)((a->rng >> 16) % (unsigned int)below);
}

static void look(Anglers* a) {
    a->observations[0] = (float)a->boat / (float)(WIDTH - 1);
    a->observations[1] = (float)a->shoal / (float)(WIDTH - 1);
    a->observations[2] = (float)a->line / 4.0f;
}

static void begin(Anglers* a) {
    a->net.caught = 0;
    a->boat = draw(a, WIDTH);
    a->shoal = draw(a, WIDTH);
    a->line = 4;
    a->paid = 0.0f;
}

void c_reset(Anglers* a) {
    begin(a);
    a->tick = 0;
    look(a);
}

static void add_log(Anglers* a, float paid, float perf, int snags) {
    a->log.perf += perf;
    a->log.score += (float)a->net.caught;
    a->log.snags += (float)snags;
    a->log.episode_return += paid;
    a->log.episode_length += (float)a->tick;
    a->log.n += 1.0f;
}

void c_step(Anglers* a) {
    int action = (int)a->actions[0];
    a->terminals[0] = 0.0f;
    a->rewards[0] = 0.0f;
    a->boat += action == 1 && a->boat > 0 ? -1 : action == 2 && a->boat < WIDTH - 1 ? 1 : 0;
    if (action == 3) {
        int hit = a->boat == a->shoal;
        a->net.caught += hit;
        a->line -= !hit;
        a->rewards[0] = hit ? 0.5f : -0.1f;
    }
    a->shoal = (a->shoal + draw(a, 3) + WIDTH - 1) % WIDTH;
    a->paid += a->rewards[0];
    if (++a->tick >= 40 + draw(a, 20) || a->line == 0) {
        a->terminals[0] = 1.0f;
        float paid = a->paid, perf = a->net.caught > 9 ? 1.0f : (float)a->net.caught / 10.0f;
        int snags = 4 - a->line;
        begin(a);
        add_log(a, paid, perf, snags);
        c_reset(a);
        return;
    }
    look(a);
}

void c_render(Anglers* a) { (void)a; }
void c_close(Anglers* a) { (void)a; }
