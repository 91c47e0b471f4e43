/*
 * shed.h - get rid of your cards (a cousin of Crazy Eights), three seats.
 *
 * Ported from a handheld: everything is bytes and bit sets, no heap, no floats in the rules.
 * A card is 0..31: rank = card >> 2, suit = card & 3. Rank 7 is wild, rank 0 skips a seat,
 * rank 3 turns the direction round.
 */
#ifndef SHED_H_
#define SHED_H_

#include <stdint.h>
#include <string.h>
#include "raylib.h"

typedef uint8_t  u8;
typedef int8_t   s8;
typedef uint32_t u32;

#define SEATS       3
#define CARDS       32
#define SLOTS       8
#define DEAL        4
#define NO_CARD     0xFF
#define RANK(c)     ((c) >> 2)
#define SUIT(c)     ((c) & 3)
#define BIT(c)      ((u32)1 << (c))
#define WILD        7
#define SKIP        0
#define TURNBACK    3

/* layout of an observation row, bytes */
#define O_HAND      0                       /* SLOTS x (0 or card + 1) */
#define O_LEGAL     (O_HAND + SLOTS)        /* SLOTS x 0/1 */
#define O_RANK      (O_LEGAL + SLOTS)       /* one-hot, top card */
#define O_SUIT      (O_RANK + 8)            /* one-hot, suit to follow */
#define O_COUNTS    (O_SUIT + 4)            /* cards held by the seats after ours */
#define O_TURN      (O_COUNTS + SEATS - 1)  /* 1 if we are to move */
#define O_DIR       (O_TURN + 1)            /* 1 clockwise, 0 the other way */
#define O_DECK      (O_DIR + 1)             /* cards left to draw */
#define O_CLOCK     (O_DECK + 1)            /* moves made */
#define OBS_SIZE    (O_CLOCK + 1)

#define DRAW_CARD   SLOTS                   /* actions 0..7 play that slot */
#define ACT_SIZES   {9}

typedef struct Log {
    float perf;             /* share of games won */
    float score;            /* cards left, negative */
    float episode_return;
    float episode_length;
    float reshuffles;
    float n;
} Log;

typedef struct Shed {
    Log    log;
    u8    *observations;
    float *actions;
    float *rewards;
    float *terminals;
    int    num_agents;
    u32    rng;

    int    max_moves;       /* setting, at most 250: it is shown in a byte */

    u8     hand[SEATS][SLOTS];
    u8     held[SEATS];
    u8     deck[CARDS];
    u8     deck_n;
    u32    pile;            /* bit set of the discards below the top card */
    u8     top, suit;
    u8     seat;
    s8     dir;
    u8     moves;
    u8     reshuffles;
    float  total[SEATS];
} Shed;

static inline u32 rnd(Shed *g, u32 n)
{
    u32 x = (g->rng += 0x9E3779B9u);
    x ^= x >> 16; x *= 0x7FEB352Du;
    x ^= x >> 15; x *= 0x846CA68Bu;
    x ^= x >> 16;
    return x % n;
}

static void shuffle(Shed *g)
{
    for (u8 i = g->deck_n; i > 1; i--) {
        u8 j = (u8)rnd(g, i), t = g->deck[j];
        g->deck[j] = g->deck[i - 1];
        g->deck[i - 1] = t;
    }
}

static u8 take(Shed *g)
{
    if (g->deck_n == 0) {
        for (u8 c = 0; c < CARDS; c++)
            if (g->pile & BIT(c))
                g->deck[g->deck_n++] = c;
        g->pile = 0;
        g->reshuffles++;
        shuffle(g);
    }
    return g->deck_n ? g->deck[--g->deck_n] : NO_CARD;
}

static int legal(const Shed *g, u8 c)
{
    return c != NO_CARD && (RANK(c) == WILD || RANK(c) == RANK(g->top) || SUIT(c) == g->suit);
}

static void look(Shed *g)
{
    memset(g->observations, 0, (size_t)SEATS * OBS_SIZE);
    for (int p = 0; p < SEATS; p++) {
        u8 *o = g->observations + p * OBS_SIZE;
        for (int s = 0; s < SLOTS; s++) {
            u8 c = g->hand[p][s];
            if (c == NO_CARD)
                continue;
            o[O_HAND + s] = (u8)(c + 1);
            o[O_LEGAL + s] = legal(g, c) ? 1 : 0;
        }
        o[O_RANK + RANK(g->top)] = 1;
        o[O_SUIT + g->suit] = 1;
        for (int k = 1; k < SEATS; k++)
            o[O_COUNTS + k - 1] = g->held[(p + k) % SEATS];
        o[O_TURN] = g->seat == p;
        o[O_DIR] = g->dir > 0;
        o[O_DECK] = g->deck_n;
        o[O_CLOCK] = g->moves;
    }
}

void init(Shed *g)
{
    g->num_agents = SEATS;
    if (g->max_moves > 250)
        g->max_moves = 250;
}

void c_reset(Shed *g)
{
    memset(g->hand, NO_CARD, sizeof g->hand);
    for (u8 c = 0; c < CARDS; c++)
        g->deck[c] = c;
    g->deck_n = CARDS;
    g->pile = 0;
    shuffle(g);
    for (int p = 0; p < SEATS; p++) {
        for (int s = 0; s < DEAL; s++)
            g->hand[p][s] = take(g);
        g->held[p] = DEAL;
        g->total[p] = 0.0f;
    }
    g->top = take(g);
    g->suit = SUIT(g->top);
    g->seat = (u8)rnd(g, SEATS);
    g->dir = 1;
    g->moves = 0;
    g->reshuffles = 0;
    look(g);
}

static void pass_on(Shed *g, int seats)
{
    g->seat = (u8)((g->seat + SEATS + seats * g->dir) % SEATS);
}

/* the suit we hold most of: what a wild card calls for */
static u8 favourite(const Shed *g, u8 p)
{
    u8 count[4] = {0}, best = 0;
    for (int s = 0; s < SLOTS; s++)
        if (g->hand[p][s] != NO_CARD)
            count[SUIT(g->hand[p][s])]++;
    for (u8 k = 1; k < 4; k++)
        if (count[k] > count[best])
            best = k;
    return best;
}

static void play(Shed *g, u8 slot)
{
    u8 p = g->seat, c = g->hand[p][slot];
    int hop = 1;

    g->hand[p][slot] = NO_CARD;
    g->held[p]--;
    g->pile |= BIT(g->top);
    g->top = c;
    g->suit = RANK(c) == WILD ? favourite(g, p) : SUIT(c);
    if (RANK(c) == SKIP)
        hop = 2;
    if (RANK(c) == TURNBACK)
        g->dir = (s8)-g->dir;
    pass_on(g, hop);
}

static void draw(Shed *g)
{
    u8 p = g->seat, c;
    for (int s = 0; s < SLOTS; s++) {
        if (g->hand[p][s] != NO_CARD)
            continue;
        c = take(g);
        if (c != NO_CARD) {
            g->hand[p][s] = c;
            g->held[p]++;
        }
        break;
    }
    pass_on(g, 1);
}

/* game over: rank the seats, pay them, write the log */
static void settle(Shed *g)
{
    u8 best = 0;
    for (u8 p = 1; p < SEATS; p++)
        if (g->held[p] < g->held[best])
            best = p;
    for (u8 p = 0; p < SEATS; p++) {
        float pay = p == best ? 1.0f : -0.5f * (float)g->held[p] / SLOTS;
        g->rewards[p] += pay;
        g->total[p] += pay;
        g->terminals[p] = 1.0f;
        g->log.perf += p == best ? 1.0f : 0.0f;
        g->log.score -= g->held[p];
        g->log.episode_return += g->total[p];
        g->log.episode_length += g->moves;
        g->log.reshuffles += g->reshuffles;
        g->log.n += 1.0f;
    }
}

void c_step(Shed *g)
{
    u8 p = g->seat;
    u8 act = (u8)g->actions[p];

    memset(g->rewards, 0, SEATS * sizeof(float));
    memset(g->terminals, 0, SEATS * sizeof(float));
    g->moves++;

    if (act == DRAW_CARD) {
        draw(g);
    } else if (legal(g, g->hand[p][act])) {
        play(g, act);
    } else {
        g->rewards[p] = -0.02f;         /* not a card we hold, or it does not fit */
        g->total[p] -= 0.02f;
        pass_on(g, 1);
    }

    if (g->held[p] == 0 || g->moves >= g->max_moves) {
        settle(g);
        c_reset(g);
        return;
    }
    look(g);
}

void c_render(Shed *g)
{
    if (!IsWindowReady()) {
        InitWindow(560, 260, "shed");
        SetTargetFPS(4);
    }
    BeginDrawing();
    ClearBackground(DARKGREEN);
    for (int p = 0; p < SEATS; p++)
        for (int s = 0; s < SLOTS; s++)
            if (g->hand[p][s] != NO_CARD)
                DrawText(TextFormat("%d%c", RANK(g->hand[p][s]), "cdhs"[SUIT(g->hand[p][s])]),
                         20 + 60 * s, 20 + 60 * p, 24, p == g->seat ? YELLOW : WHITE);
    DrawText(TextFormat("top %d%c", RANK(g->top), "cdhs"[g->suit]), 20, 210, 24, ORANGE);
    EndDrawing();
}

void c_close(Shed *g)
{
    (void)g;
}

#endif /* SHED_H_ */
