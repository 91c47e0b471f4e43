// expect: PUF312
// Trade one good on a random market. Fault: the reward is a logarithm of wealth, and wealth may
// reach zero.
#pragma once
#include <math.h>
#define OBS_SIZE 3
#define ACT_SIZES {3}
typedef struct Log {
    float score;
    float episode_length;
    float n;
} Log;
static inline float roll(unsigned int* rng) {      // [0, 1)
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

typedef struct Market {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int price, cash, stock, tick;
} Market;

static float wealth(Market* m) { return (float)(m->cash + m->stock * m->price); }

static void observe(Market* m) {
    m->observations[0] = (float)m->price / 10.0f;
    m->observations[1] = (float)m->cash / 40.0f;
    m->observations[2] = (float)m->stock / 20.0f;
}

void c_reset(Market* m) {
    m->price = 5;
    m->cash = 20;
    m->stock = 0;
    m->tick = 0;
    observe(m);
}

void c_step(Market* m) {
    float before = wealth(m);
    if (m->actions[0] == 2.0f && m->cash >= m->price) { m->cash -= m->price; m->stock++; }
    if (m->actions[0] == 0.0f && m->stock > 0) { m->cash += m->price; m->stock--; }
    if (m->tick % 4 == 0 && m->cash > 0) m->cash--;         // rent
    m->price += roll(&m->rng) < 0.5f ? -1 : 1;
    if (m->price < 1) m->price = 1;
    if (m->price > 10) m->price = 10;
    m->rewards[0] = logf(wealth(m) / before);
    m->terminals[0] = 0.0f;
    if (++m->tick >= 120) {
        m->terminals[0] = 1.0f;
        m->log.score += wealth(m);
        m->log.episode_length += (float)m->tick;
        m->log.n += 1.0f;
        c_reset(m);
        return;
    }
    observe(m);
}

void c_render(Market* m) { (void)m; }
void c_close(Market* m) { (void)m; }
