/* byte_wrap.c -- bytes that wrap around: how the cells of a few envs change from step to step.
 *
 * A counter that goes on from 255 to 0 moves in small steps on a circle of 256; the cells of a
 * board jump from code to code.
 */
#include "run.h"
#include <stdlib.h>
#include <string.h>

enum { CELLS = 4096, NEAR = 24, EDGE = 48 };

typedef struct Circle {             // one element, over the envs that are followed
    int64_t changes, near;          // and those of at most NEAR on the circle of 256
    int64_t jumps;                  // beyond an edge, by any step
    int64_t by[256], round[256];    // how often each step was made; beyond an edge, too
    unsigned char values[256];      // which were seen
    int64_t step;                   // of the first that went round
    int env, agent, from, to;
} Circle;

struct Circles {
    const Batch* b;
    int envs;                 // the first ones, which are followed
    Circle* at;               // (D)
    unsigned char* before;    // their rows one step ago
};

Circles* circles_open(const Batch* b) {
    size_t D = (size_t)desc.obs_size, cells = 0;
    if (desc.obs_dtype != PUFFER_U8 || D > CELLS / 4) {
        return NULL;
    }
    Circles* c = calloc(1, sizeof *c);
    c->b = b;
    while (c->envs < b->envs && cells + D * (size_t)b->count[c->envs] <= CELLS) {
        cells += D * (size_t)b->count[c->envs++];
        if (c->envs == 4 && cells > 256) {
            break;
        }
    }
    c->at = calloc(D, sizeof *c->at);
    c->before = calloc(cells, 1);
    return c;
}

static void follow_cell(Circle* c, int from, int to, int env, int agent) {
    int by = (to - from) & 255, distance = by < 128 ? by : 256 - by;
    bool round = by < 128 ? to < from : to > from;    // the short way leads through 0
    c->changes++;
    c->near += distance <= NEAR;
    c->by[by]++;
    c->round[by] += round;
    if (round && c->jumps++ == 0) {
        c->step = watch.step;
        c->env = env;
        c->agent = agent;
        c->from = from;
        c->to = to;
    }
}

void circles_step(Circles* c, int64_t t) {
    if (!c) {
        return;
    }
    const Batch* b = c->b;
    unsigned char* before = c->before;
    size_t D = (size_t)desc.obs_size;
    for (int e = 0; e < c->envs; e++) {
        size_t size = D * (size_t)b->count[e];
        const unsigned char* now_ = b->rows[e].observations;
        bool ended = any_ended(b, e);
        for (size_t i = 0; i < size; i++) {
            if (now_[i] != before[i]) {
                Circle* cell = &c->at[i % D];
                int agent = (int)(i / D);
                bool is = !desc.has_alive || has_agent(b, e, agent);
                bool was = had_agent(b, e, agent);
                cell->values[now_[i]] |= is;
                if (t > 0 && !ended && is && was) {
                    follow_cell(cell, before[i], now_[i], e, agent);
                }
            }
        }
        memcpy(before, now_, size);
        before += size;
    }
}

// Over 255 and under 0, by small steps that the element makes elsewhere as well: a timer that
// starts again at 0 after 240 makes a step of 16 only there
static void count_rounds(const Circle* c, int64_t* over, int64_t* under) {
    *over = *under = 0;
    for (int by = 1; by < 256; by++) {
        int distance = by < 128 ? by : 256 - by;
        if (distance <= NEAR && 2 * c->round[by] <= c->by[by]) {
            *(by < 128 ? over : under) += c->round[by];
        }
    }
}

void circles_close(Circles* c) {
    for (int i = 0; c && i < desc.obs_size; i++) {
        const Circle* o = &c->at[i];
        int low = 0, high = 0, distinct = 0, usual = 0;
        int64_t over, under;
        for (int v = 0; v < 256; v++) {
            distinct += o->values[v];
            low += v < EDGE && o->values[v];
            high += v >= 256 - EDGE && o->values[v];
            usual = o->by[v] > o->by[usual] ? v : usual;
        }
        if (o->jumps == 0) {
            continue;
        }
        count_rounds(o, &over, &under);
        fact(circle, .element = i, .changes = o->changes, .near = o->near, .over = over,
             .under = under, .jumps = o->jumps, .low = low, .high = high, .distinct = distinct,
             .usually = o->by[usual], .rounds = o->round[usual], .step = o->step, .env = o->env,
             .agent = o->agent, .before = o->from, .after = o->to);
    }
    if (c) {
        free(c->at);
        free(c->before);
    }
    free(c);
}
