// expect: PUF422
// Four rowers keep a boat on its course. Fault: the tick is counted in the loop over rowers, so
// that a race of 50 steps is logged as one of 200.
#pragma once
#include <math.h>
#define ROWERS 4
#define OBS_SIZE 4
#define ACT_SIZES {1}

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Boat {
    Log log;
    float *observations, *actions, *rewards, *terminals;
    int num_agents;
    unsigned int rng;
    float x, y, heading, stream, paid;
    int ticks;
} Boat;

void init(Boat* b) { b->num_agents = ROWERS; }

static float unit(Boat* b) {
    b->rng = b->rng * 69069u + 12345u;
    return (float)(b->rng >> 8) / 16777216.0f;
}

static void observe(Boat* b) {
    for (int i = 0; i < ROWERS; i++) {
        float* o = b->observations + OBS_SIZE * i;
        o[0] = i % 2 ? -b->y : b->y;
        o[1] = b->x / 10.0f;
        o[2] = i % 2 ? -b->heading : b->heading;
        o[3] = 20.0f * b->stream;
    }
}

void c_reset(Boat* b) {
    b->x = b->heading = b->paid = 0.0f;
    b->y = unit(b) - 0.5f;
    b->stream = 0.04f * (unit(b) - 0.5f);
    b->ticks = 0;
    observe(b);
}

void c_step(Boat* b) {
    float speed = 0.0f;
    for (int i = 0; i < ROWERS; i++) {
        float pull = 0.5f + 0.5f * fmaxf(-1.0f, fminf(1.0f, b->actions[i]));
        speed += 0.1f * pull;
        b->heading += (i % 2 ? -0.05f : 0.05f) * pull;
        b->ticks++;
    }
    b->x += speed * cosf(b->heading);
    b->y += speed * sinf(b->heading) + b->stream;
    int ashore = fabsf(b->y) > 1.0f, goal = b->x >= 10.0f;
    float reward = ashore ? -1.0f : 0.1f * speed * cosf(b->heading);
    int over = ashore || goal || b->ticks >= 150 * ROWERS;
    for (int i = 0; i < ROWERS; i++) {
        b->rewards[i] = reward;
        b->terminals[i] = (float)over;
    }
    b->paid += reward;
    if (over) {
        b->log.perf += (float)goal;
        b->log.score += b->x;
        b->log.episode_return += b->paid;
        b->log.episode_length += (float)b->ticks;
        b->log.n += 1.0f;
        c_reset(b);
        return;
    }
    observe(b);
}

void c_render(Boat* b) { (void)b; }
void c_close(Boat* b) { (void)b; }
