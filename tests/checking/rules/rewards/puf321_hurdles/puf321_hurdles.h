// expect: PUF321
// Jump over hurdles. Fault: the terminal is set when the runner falls and never cleared.
#pragma once
#define OBS_SIZE 3
#define ACT_SIZES {2}

typedef struct Log { float score; float episode_return; float episode_length; float n; } Log;

typedef struct Hurdles {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int gap, air, jumped, tick;
} Hurdles;

static void place_hurdle(Hurdles* h) {
    h->rng = h->rng * 1103515245u + 12345u;
    h->gap = 4 + (int)(h->rng >> 29);
}

static void see(Hurdles* h) {
    h->observations[0] = (unsigned char)h->gap;
    h->observations[1] = (unsigned char)h->air;
    h->observations[2] = (unsigned char)(h->tick & 1);
}

void c_reset(Hurdles* h) {
    h->air = h->jumped = h->tick = 0;
    place_hurdle(h);
    see(h);
}

void c_step(Hurdles* h) {
    h->tick++;
    h->rewards[0] = 0;
    if (h->air > 0) h->air--;
    else if (h->actions[0] == 1) h->air = 3;
    if (--h->gap == 0) {
        if (h->air == 0 || h->jumped == 20) {
            h->terminals[0] = 1;
            h->rewards[0] = -1;
            h->log.score += h->jumped;
            h->log.episode_return += h->jumped - 1;
            h->log.episode_length += h->tick;
            h->log.n++;
            c_reset(h);
            return;
        }
        h->rewards[0] = 1;
        h->jumped++;
        place_hurdle(h);
    }
    see(h);
}

void c_render(Hurdles* h) { (void)h; }
void c_close(Hurdles* h) { (void)h; }
