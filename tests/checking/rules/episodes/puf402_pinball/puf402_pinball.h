// expect: PUF402
/* Keep a ball in play with a paddle below. Fault: a ball that loses its speed on a ledge at the
 * side lies there for ever; it is neither lost nor hit, and there is no time limit. */
#pragma once
#include <math.h>

#define OBS_SIZE 5
#define ACT_SIZES {3}

typedef struct { float perf, score, episode_return, episode_length, n; } Log;

typedef struct {
    Log log;
    float *observations, *actions, *rewards, *terminals;
    int num_agents;
    unsigned int rng;
    float x, y, vx, vy, paddle;
    int hits, tick;
} Pinball;

static float spin(Pinball* p) {
    p->rng = p->rng * 22695477u + 1u;
    return (float)(p->rng >> 16) / 32768.0f - 1.0f;
}

static void look(Pinball* p) {
    float seen[OBS_SIZE] = {p->x, p->y, 10 * p->vx, 10 * p->vy, p->paddle};
    for (int i = 0; i < OBS_SIZE; i++) p->observations[i] = seen[i];
}

void c_reset(Pinball* p) {
    p->x = 0.5f * spin(p);
    p->y = 0.9f;
    p->vx = 0.03f * spin(p);
    p->vy = -0.02f;
    p->paddle = 0;
    p->hits = p->tick = 0;
    look(p);
}

void c_step(Pinball* p) {
    p->rewards[0] = p->terminals[0] = 0;
    p->tick++;
    p->paddle = fmaxf(-0.7f, fminf(0.7f, p->paddle + 0.05f * (p->actions[0] - 1)));
    p->vy -= 0.001f;
    p->x += p->vx;
    p->y += p->vy;
    if (fabsf(p->x) > 1) {
        p->x = copysignf(1, p->x);
        p->vx = -0.9f * p->vx;
    }
    if (p->y > 1) { p->y = 1; p->vy = -p->vy; }
    if (fabsf(p->x) > 0.98f && fabsf(p->y) < 0.01f) {
        p->vx = p->vy = 0;                              // on the ledge
        p->y = 0;
        p->vy = 0.001f;
    }
    if (p->y < -1) {
        int hit = fabsf(p->x - p->paddle) < 0.3f && p->hits < 20;
        p->rewards[0] = hit ? 0.2f : -1.0f;
        if (!hit) {
            p->terminals[0] = 1;
            p->log.perf += p->hits / 20.0f;
            p->log.score += p->hits;
            p->log.episode_return += 0.2f * p->hits - 1.0f;
            p->log.episode_length += p->tick;
            p->log.n++;
            c_reset(p);
            return;
        }
        p->hits++;
        p->y = -1;
        p->vy = 0.05f + 0.01f * spin(p);
        p->vx += 0.02f * (p->x - p->paddle);
    }
    look(p);
}

void c_render(Pinball* p) { (void)p; }
void c_close(Pinball* p) { (void)p; }
