// expect: PUF306
// Land a rocket on a pad. Fault: a full tank holds 60, and fuel is divided by 50.
#pragma once
#include <math.h>

enum {
    OBS_HEIGHT,             // [0, 2]  above the ground
    OBS_SPEED,              // [-3, 3] upward
    OBS_FUEL,               // [0, 1]
    OBS_BEAMS,              // [0, 1]  4 values: a radar looks down
    OBS_WIND = OBS_BEAMS + 4,   /* [-1, 1] */
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT
#define ACT_SIZES {2}
#define TANK 60.0f

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Rocket {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float height, speed, fuel, wind, sum;
    int tick;
} Rocket;

static float draw(unsigned int* rng) {
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

static void observe(Rocket* r) {
    float* o = r->observations;
    o[OBS_HEIGHT] = r->height;
    o[OBS_SPEED] = r->speed;
    o[OBS_FUEL] = r->fuel / 50.0f;
    for (int i = 0; i < 4; i++) {
        o[OBS_BEAMS + i] = expf(-r->height * (1.0f + 0.2f * (float)i));
    }
    o[OBS_WIND] = r->wind;
}

void c_reset(Rocket* r) {
    r->height = 1.0f + 0.5f * draw(&r->rng);
    r->speed = 0.0f;
    r->fuel = TANK * (0.5f + 0.5f * draw(&r->rng));
    r->wind = 2.0f * draw(&r->rng) - 1.0f;
    r->sum = 0.0f;
    r->tick = 0;
    observe(r);
}

void c_step(Rocket* r) {
    int burn = r->actions[0] == 1.0f && r->fuel >= 1.0f;
    r->fuel -= (float)burn;
    r->speed += 0.001f * r->wind + (burn ? 0.012f : -0.008f);
    r->height += r->speed;
    r->tick++;
    int down = r->height <= 0.0f, away = r->height > 2.0f || r->tick >= 300;
    int soft = down && r->speed > -0.06f;
    r->rewards[0] = soft ? 1.0f : down || away ? -1.0f : 0.0f;
    r->terminals[0] = down || away ? 1.0f : 0.0f;
    r->sum += r->rewards[0];
    if (down || away) {
        r->log.perf += (float)soft;
        r->log.score += (float)soft;
        r->log.episode_return += r->sum;
        r->log.episode_length += (float)r->tick;
        r->log.n += 1.0f;
        c_reset(r);
        return;
    }
    observe(r);
}

void c_render(Rocket* r) { (void)r; }
void c_close(Rocket* r) { (void)r; }
