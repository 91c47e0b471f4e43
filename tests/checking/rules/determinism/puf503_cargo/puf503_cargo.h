// expect: PUF108 PUF501 PUF503
// Load ships in a harbour. Fault: the queue's timer is a static variable, so that all envs of the
// process wind one clock, and a second run begins where the first one left it.
#pragma once
#define OBS_SIZE 4
#define ACT_SIZES {3}
typedef struct Log {
    float score;
    float episode_length;
    float n;
} Log;

static int crane_timer = 0;

typedef struct Cargo {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int dock[2];
    int tick, shipped;
} Cargo;

static void look(Cargo* c) {
    c->observations[0] = (float)c->dock[0] / 8.0f;
    c->observations[1] = (float)c->dock[1] / 8.0f;
    c->observations[2] = (float)c->tick / 90.0f;
    c->observations[3] = (float)(crane_timer % 7) / 7.0f;
}

void c_reset(Cargo* c) {
    c->dock[0] = c->dock[1] = 0;
    c->tick = c->shipped = 0;
    look(c);
}

void c_step(Cargo* c) {
    crane_timer++;
    c->rewards[0] = 0.0f;
    c->terminals[0] = 0.0f;
    int a = (int)c->actions[0];
    if (a < 2 && crane_timer % 7 == 0 && c->dock[a] < 8) c->dock[a]++;
    for (int i = 0; i < 2; i++) {
        if (c->dock[i] >= 3 && a == 2) {
            c->rewards[0] += 0.5f;
            c->shipped += c->dock[i];
            c->dock[i] = 0;
        }
    }
    if (++c->tick >= 90) {
        c->terminals[0] = 1.0f;
        c->log.score += (float)c->shipped;
        c->log.episode_length += (float)c->tick;
        c->log.n += 1.0f;
        c_reset(c);
        return;
    }
    look(c);
}

void c_render(Cargo* c) { (void)c; }
void c_close(Cargo* c) { (void)c; }
