// bazaar: rival market makers quote a bid and an ask around a wandering mid price.
// Whoever shows the better price gets the customer. Nobody wants to be stuck with inventory.
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

enum {
    OBS_INVENTORY,      // [-1, 1]  of the limit
    OBS_EQUITY,         // [-2, 2]  marked to market, clipped
    OBS_MID_MOVE,       // [-1, 1]  last change of the mid
    OBS_TREND,          // [-1, 1]  mid against its value a window ago
    OBS_VOLATILITY,     // [0, 1]   mean absolute change over the window
    OBS_BID_FILLED,     // [0, 1]   our bid was hit on this step
    OBS_ASK_FILLED,     // [0, 1]   our ask was lifted on this step
    OBS_RIVAL_BID,      // [0, 1]   best offset of the others, last step
    OBS_RIVAL_ASK,      // [0, 1]
    OBS_TIME_LEFT,      // [0, 1]   of this session
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

#define LEVELS 5                        // offsets from the mid, in ticks: 1 .. 5
#define ACT_SIZES {LEVELS, LEVELS}      // bid, ask

#define REWARD_SCALE 0.05f
#define SESSION_MIN  120
#define SESSION_MORE 120

typedef struct Log {
    float perf;
    float score;                        // equity at the close, in ticks
    float episode_return;
    float episode_length;
    float busts;
    float n;
} Log;

typedef struct Maker {
    int inventory;
    float cash;                         // in ticks, relative to the opening mid
    float equity;
    int bid, ask;                       // offsets quoted
    int bid_filled, ask_filled;
    float ret;
} Maker;

typedef struct Bazaar {
    Log log;
    float *observations;
    float *actions;
    float *rewards;
    float *terminals;
    int num_agents;
    unsigned int rng;

    int window;                         // length of the price memory
    int max_inventory;
    float momentum;

    Maker *makers;                      // num_agents of them, from init to c_close
    float *changes;                     // ring of the last changes of the mid
    int head;
    float mid, drift;
    int tick, session;
} Bazaar;

static inline unsigned int bits(Bazaar *b) {
    b->rng = b->rng * 747796405u + 2891336453u;
    unsigned int w = ((b->rng >> ((b->rng >> 28) + 4u)) ^ b->rng) * 277803737u;
    return (w >> 22) ^ w;
}
static inline float unit(Bazaar *b) { return (float)(bits(b) >> 8) / 16777216.0f; }
static inline float clip(float v, float lo, float hi) { return fminf(fmaxf(v, lo), hi); }

void init(Bazaar *b) {
    if (b->window < 1) b->window = 1;
    if (b->max_inventory < 2) b->max_inventory = 2;
    b->makers = calloc((size_t)b->num_agents, sizeof *b->makers);
    b->changes = calloc((size_t)b->window, sizeof *b->changes);
}

void c_close(Bazaar *b) {
    free(b->makers);
    free(b->changes);
}

static void observe(Bazaar *b) {
    float sum = 0.0f, absolute = 0.0f;
    for (int k = 0; k < b->window; k++) {
        sum += b->changes[k];
        absolute += fabsf(b->changes[k]);
    }
    int newest = (b->head + b->window - 1) % b->window;
    for (int i = 0; i < b->num_agents; i++) {
        const Maker *m = &b->makers[i];
        float *o = b->observations + i * OBS_SIZE;
        int rival_bid = LEVELS, rival_ask = LEVELS;
        for (int j = 0; j < b->num_agents; j++) {
            if (j == i) continue;
            if (b->makers[j].bid < rival_bid) rival_bid = b->makers[j].bid;
            if (b->makers[j].ask < rival_ask) rival_ask = b->makers[j].ask;
        }
        o[OBS_INVENTORY] = (float)m->inventory / (float)b->max_inventory;
        o[OBS_EQUITY] = clip(m->equity / 40.0f, -2.0f, 2.0f);
        o[OBS_MID_MOVE] = clip(b->changes[newest] / 3.0f, -1.0f, 1.0f);
        o[OBS_TREND] = clip(sum / (float)b->window, -1.0f, 1.0f);
        o[OBS_VOLATILITY] = clip(absolute / (float)b->window, 0.0f, 1.0f);
        o[OBS_BID_FILLED] = m->bid_filled ? 1.0f : 0.0f;
        o[OBS_ASK_FILLED] = m->ask_filled ? 1.0f : 0.0f;
        o[OBS_RIVAL_BID] = (float)rival_bid / LEVELS;
        o[OBS_RIVAL_ASK] = (float)rival_ask / LEVELS;
        o[OBS_TIME_LEFT] = 1.0f - (float)b->tick / (float)b->session;
    }
}

void c_reset(Bazaar *b) {
    memset(b->makers, 0, (size_t)b->num_agents * sizeof *b->makers);
    for (int i = 0; i < b->num_agents; i++) b->makers[i].bid = b->makers[i].ask = LEVELS;
    for (int k = 0; k < b->window; k++) b->changes[k] = 0.0f;
    b->head = 0;
    b->mid = 0.0f;
    b->drift = 0.0f;
    b->tick = 0;
    b->session = SESSION_MIN + (int)(bits(b) % SESSION_MORE);
    observe(b);
}

// the maker with the smallest offset on that side, ties at random; -1 if the customer walks
static int best_quote(Bazaar *b, int want_bid, int patience) {
    int best = patience + 1, who = -1, tied = 0;
    for (int i = 0; i < b->num_agents; i++) {
        int offset = want_bid ? b->makers[i].bid : b->makers[i].ask;
        if (offset < best) {
            best = offset;
            who = i;
            tied = 1;
        } else if (offset == best && who >= 0) {
            tied++;
            if (bits(b) % (unsigned int)tied == 0) who = i;
        }
    }
    return who;
}

void c_step(Bazaar *b) {
    int over = 0;
    memset(b->rewards, 0, (size_t)b->num_agents * sizeof(float));
    memset(b->terminals, 0, (size_t)b->num_agents * sizeof(float));
    b->tick++;

    for (int i = 0; i < b->num_agents; i++) {
        Maker *m = &b->makers[i];
        m->bid = 1 + (int)b->actions[2 * i];
        m->ask = 1 + (int)b->actions[2 * i + 1];
        m->bid_filled = m->ask_filled = 0;
    }

    // up to two customers come by, each with a random patience
    for (int c = 0; c < 2; c++) {
        float side = unit(b);
        int patience = 1 + (int)(bits(b) % LEVELS);
        if (side > 0.8f) continue;
        int who = best_quote(b, side < 0.4f, patience);
        if (who < 0) continue;
        Maker *m = &b->makers[who];
        if (side < 0.4f) {
            m->inventory += 1;
            m->cash -= b->mid - (float)m->bid;
            m->bid_filled = 1;
        } else {
            m->inventory -= 1;
            m->cash += b->mid + (float)m->ask;
            m->ask_filled = 1;
        }
    }

    b->drift = b->momentum * b->drift + (1.0f - b->momentum) * (2.0f * unit(b) - 1.0f) * 3.0f;
    float change = clip(b->drift + (unit(b) - 0.5f), -3.0f, 3.0f);
    b->mid += change;
    b->changes[b->head] = change;
    b->head = (b->head + 1) % b->window;

    int busted = -1;
    for (int i = 0; i < b->num_agents; i++) {
        Maker *m = &b->makers[i];
        float before = m->equity;
        m->equity = m->cash + (float)m->inventory * b->mid;
        float reward = clip((m->equity - before) * REWARD_SCALE, -1.0f, 1.0f);
        if (abs(m->inventory) >= b->max_inventory) {
            reward = -2.0f;
            busted = i;
            over = 1;
        }
        b->rewards[i] = reward;
        m->ret += reward;
    }
    if (b->tick >= b->session) over = 1;

    if (over) {
        for (int i = 0; i < b->num_agents; i++) {
            Maker *m = &b->makers[i];
            b->terminals[i] = 1.0f;
            b->log.perf += clip(0.5f + m->equity / 400.0f, 0.0f, 1.0f);
            b->log.score += m->equity;
            b->log.episode_return += m->ret;
            b->log.episode_length += (float)b->tick;
            b->log.busts += i == busted ? 1.0f : 0.0f;
            b->log.n += 1.0f;
        }
        c_reset(b);
        return;
    }
    observe(b);
}

void c_render(Bazaar *b) {
    if (!IsWindowReady()) {
        InitWindow(640, 320, "bazaar");
        SetTargetFPS(15);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    for (int i = 0; i < b->num_agents; i++)
        DrawText(TextFormat("maker %d: %+d units, equity %+.1f", i, b->makers[i].inventory,
                            b->makers[i].equity), 20, 40 + 30 * i, 20, GREEN);
    DrawText(TextFormat("mid %+.2f  tick %d/%d", b->mid, b->tick, b->session), 20, 10, 20, GOLD);
    EndDrawing();
}
