// expect: PUF314 PUF315
/* An owl hunts mice on a dark field. Fault: the reward is written, and then c_step clears it,
 * because the clearing was moved to where the observation is made. */
#pragma once
#include <string.h>
#define SIDE 7
#define OBS_SIZE (SIDE * SIDE)
#define ACT_SIZES {4}

typedef struct Log { float perf, score, episode_length, n; } Log;

typedef struct Owl {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int owl, mouse, caught, tick;
} Owl;

static int somewhere(Owl* o) {
    o->rng = o->rng * 747796405u + 2891336453u;
    return (int)((o->rng >> 16) % OBS_SIZE);
}

static void look_around(Owl* o) {
    o->rewards[0] = 0.0f;
    memset(o->observations, 0, OBS_SIZE);
    o->observations[o->mouse] = 2;
    o->observations[o->owl] = 1;
}

void c_reset(Owl* o) {
    o->owl = OBS_SIZE / 2;
    o->mouse = somewhere(o);
    o->caught = o->tick = 0;
    look_around(o);
}

void c_step(Owl* o) {
    int a = (int)o->actions[0], x = o->owl % SIDE, y = o->owl / SIDE;
    x += (a == 0) - (a == 1);
    y += (a == 2) - (a == 3);
    if (x >= 0 && x < SIDE && y >= 0 && y < SIDE) o->owl = y * SIDE + x;
    o->terminals[0] = 0.0f;
    o->tick++;
    if (o->owl == o->mouse) {
        o->rewards[0] = 1.0f;
        o->caught++;
        o->mouse = somewhere(o);
    }
    if (o->tick == 70 || o->caught == 3) {
        o->terminals[0] = 1.0f;
        o->log.perf += o->caught / 3.0f;
        o->log.score += o->caught;
        o->log.episode_length += o->tick;
        o->log.n++;
        c_reset(o);
        return;
    }
    look_around(o);
}

void c_render(Owl* o) { (void)o; }
void c_close(Owl* o) { (void)o; }
