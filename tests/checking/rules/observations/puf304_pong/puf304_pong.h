// expect: PUF304
// One-sided pong. Fault: positions go into the observation in pixels.
#pragma once
#include <math.h>
#define WIDTH 320.0f
#define HEIGHT 200.0f
#define OBS_SIZE 5
#define ACT_SIZES {3}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;
static inline float roll(unsigned int* rng) {      // [0, 1)
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

typedef struct Pong {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float ball_x, ball_y, vx, vy, paddle;
    int tick, hits;
} Pong;

static void observe(Pong* p) {
    p->observations[0] = p->ball_x;
    p->observations[1] = p->ball_y;
    p->observations[2] = p->vx / 8.0f;
    p->observations[3] = p->vy / 8.0f;
    p->observations[4] = p->paddle;
}

void c_reset(Pong* p) {
    p->ball_x = WIDTH / 2;
    p->ball_y = HEIGHT * roll(&p->rng);
    p->vx = 6.0f;
    p->vy = 8.0f * (roll(&p->rng) - 0.5f);
    p->paddle = HEIGHT / 2;
    p->tick = p->hits = 0;
    observe(p);
}

void c_step(Pong* p) {
    p->rewards[0] = 0.0f;
    p->terminals[0] = 0.0f;
    p->paddle = fminf(fmaxf(p->paddle + 6.0f * (p->actions[0] - 1.0f), 0.0f), HEIGHT);
    p->ball_x += p->vx;
    p->ball_y += p->vy;
    if (p->ball_y < 0.0f || p->ball_y > HEIGHT) p->vy = -p->vy;
    if (p->ball_x > WIDTH) p->vx = -p->vx;
    p->tick++;
    if (p->ball_x < 0.0f) {
        int hit = fabsf(p->ball_y - p->paddle) < 20.0f;
        p->rewards[0] = hit ? 1.0f : -1.0f;
        p->hits += hit;
        p->vx = 6.0f;
        if (!hit || p->hits >= 10) {
            p->terminals[0] = 1.0f;
            p->log.perf += (float)p->hits / 10.0f;
            p->log.score += (float)p->hits;
            p->log.episode_return += (float)p->hits - (hit ? 0.0f : 1.0f);
            p->log.episode_length += (float)p->tick;
            p->log.n += 1.0f;
            c_reset(p);
            return;
        }
    }
    observe(p);
}

void c_render(Pong* p) { (void)p; }
void c_close(Pong* p) { (void)p; }
