// expect: PUF506
// Liar's dice: who bids on dice that nobody else sees. Everybody is shown the bidder's dice.
#pragma once
#include <string.h>

#define PLAYERS 3
#define DICE 4
#define OBS_SIZE (6 + 2 + PLAYERS)
#define ACT_SIZES {7}

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Player {
    int dice[6];            // puffer: private
    int out;
} Player;

typedef struct Liars {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Player players[PLAYERS];
    int face, count, turn, tick;
    float gained;
} Liars;

void init(Liars* g) { g->num_agents = PLAYERS; }

static int throw_die(Liars* g) {
    g->rng = g->rng * 1664525u + 1013904223u;
    return (int)((g->rng >> 16) % 6u);
}

static void show(Liars* g) {
    for (int i = 0; i < PLAYERS; i++) {
        unsigned char* o = g->observations + i * OBS_SIZE;
        for (int f = 0; f < 6; f++) o[f] = (unsigned char)g->players[g->turn].dice[f];
        o[6] = (unsigned char)g->face;
        o[7] = (unsigned char)g->count;
        for (int j = 0; j < PLAYERS; j++) o[8 + j] = (unsigned char)(j == g->turn);
    }
}

void c_reset(Liars* g) {
    for (int i = 0; i < PLAYERS; i++) {
        memset(g->players[i].dice, 0, sizeof g->players[i].dice);
        for (int d = 0; d < DICE; d++) g->players[i].dice[throw_die(g)]++;
    }
    g->face = throw_die(g);
    g->count = 1;
    g->turn = throw_die(g) % PLAYERS;
    g->tick = 0;
    g->gained = 0;
    show(g);
}

void c_step(Liars* g) {
    int bid = (int)g->actions[g->turn], challenged = -1;
    g->tick++;
    for (int i = 0; i < PLAYERS; i++) g->rewards[i] = g->terminals[i] = 0;
    if (bid == 6 || g->count > PLAYERS * DICE) {
        int there = 0;
        for (int i = 0; i < PLAYERS; i++) there += g->players[i].dice[g->face];
        int before = (g->turn + PLAYERS - 1) % PLAYERS;
        challenged = there >= g->count ? g->turn : before;
    } else {
        g->count += bid <= g->face;
        g->face = bid;
        g->turn = (g->turn + 1) % PLAYERS;
    }
    if (challenged >= 0) {
        for (int i = 0; i < PLAYERS; i++) {
            g->rewards[i] = i == challenged ? -1.0f : 0.5f;
            g->terminals[i] = 1.0f;
        }
        g->gained += g->rewards[0];
        g->log.perf += g->gained > 0;
        g->log.score += g->gained;
        g->log.episode_return += g->gained;
        g->log.episode_length += (float)g->tick;
        g->log.n++;
        c_reset(g);
        return;
    }
    show(g);
}

void c_render(Liars* g) { (void)g; }
void c_close(Liars* g) { (void)g; }
