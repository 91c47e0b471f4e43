/* Tug of war, three against three.
 *
 * Agents 0..2 pull to the left (-), 3..5 to the right (+). A heave tires; three heaves
 * on the caller's beat are worth far more than three at odd times. Whoever is exhausted or
 * unlucky slips and lies in the mud for a few ticks. The round ends for everybody
 * at once: the knot crosses a line, or the whistle blows.
 */
#pragma once
#include <math.h>
#include <string.h>
#include "raylib.h"

#define TEAM      3
#define PULLERS   (2 * TEAM)
#define MOVES     4             /* rest, pull, heave, brace */
#define ACT_SIZES {MOVES}
#define MUD_TICKS 5
#define HISTORY   8             /* ticks of knot positions that everybody remembers */

/* per agent: stamina, strength, mud, beat sin/cos, knot, knot speed, clock = 8;
 * two mates: stamina, mud, one-hot of the last move = 2 * 6; three foes: mud = 3;
 * the knot over the last 8 ticks, newest first = 8 */
#define OBS_SIZE  (8 + (TEAM - 1) * (2 + MOVES) + TEAM + HISTORY)

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Tugofwar {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    float line;                 /* how far the knot has to travel */
    int max_ticks;
    float slip;                 /* chance to slip while heaving */
    int beat;                   /* ticks between two calls */
    float drag;

    float stamina[PULLERS];
    float strength[PULLERS];
    int mud[PULLERS];           /* ticks left on the ground */
    int move[PULLERS];          /* last move, after slipping */
    float returns[PULLERS];
    float trail[HISTORY];       /* a ring: knot positions */
    int trail_head;             /* where the newest one is */
    float knot, speed;
    int tick, phase;
} Tugofwar;

enum { REST, PULL, HEAVE, BRACE };

#define FOR_ALL(i) for (int i = 0; i < PULLERS; i++)
#define TEAM_OF(i) ((i) / TEAM)
#define SIGN(i)    (TEAM_OF(i) == 0 ? -1.0f : 1.0f)

static unsigned int roll(Tugofwar* e) {
    unsigned int x = e->rng + 0x7F4A7C15u;
    e->rng = x;
    x ^= x >> 16; x *= 0x7FEB352Du;
    x ^= x >> 15; x *= 0x846CA68Bu;
    return x ^ (x >> 16);
}
static float chance(Tugofwar* e) { return (float)(roll(e) >> 8) / 16777216.0f; }
static float limit(float v, float m) { return fminf(fmaxf(v, -m), m); }

static void fill(Tugofwar* e) {
    memset(e->observations, 0, sizeof(float) * PULLERS * OBS_SIZE);
    float call = 6.2831853f * (float)(e->tick + e->phase) / (float)e->beat;
    FOR_ALL(i) {
        float* o = &e->observations[i * OBS_SIZE];
        *o++ = e->stamina[i];
        *o++ = e->strength[i];
        *o++ = (float)e->mud[i] / MUD_TICKS;
        *o++ = sinf(call);
        *o++ = cosf(call);
        *o++ = SIGN(i) * limit(e->knot / e->line, 1.0f);
        *o++ = SIGN(i) * limit(e->speed, 1.0f);
        *o++ = (float)e->tick / (float)e->max_ticks;
        for (int m = TEAM_OF(i) * TEAM; m < (TEAM_OF(i) + 1) * TEAM; m++) {
            if (m == i) continue;
            *o++ = e->stamina[m];
            *o++ = (float)e->mud[m] / MUD_TICKS;
            o[e->move[m]] = 1.0f;
            o += MOVES;
        }
        for (int f = 0; f < TEAM; f++)
            *o++ = (float)e->mud[(1 - TEAM_OF(i)) * TEAM + f] / MUD_TICKS;
        for (int h = 0; h < HISTORY; h++)
            *o++ = SIGN(i) * limit(e->trail[(e->trail_head + HISTORY - h) % HISTORY] / e->line, 1.0f);
    }
}

void init(Tugofwar* e) {
    e->num_agents = PULLERS;
    if (e->beat < 1) e->beat = 1;
    if (e->max_ticks < 1) e->max_ticks = 1;
}

void c_reset(Tugofwar* e) {
    FOR_ALL(i) {
        e->stamina[i] = 1.0f;
        e->strength[i] = 0.7f + 0.3f * chance(e);
        e->mud[i] = 0;
        e->move[i] = REST;
        e->returns[i] = 0.0f;
    }
    memset(e->trail, 0, sizeof(e->trail));
    e->trail_head = 0;
    e->knot = e->speed = 0.0f;
    e->tick = 0;
    e->phase = (int)(roll(e) % (unsigned int)e->beat);
    fill(e);
}

/* what one puller adds to the rope, in its own direction */
static float effort(Tugofwar* e, int i, int move, int on_beat) {
    float power = 0.0f;
    e->move[i] = move;
    if (e->mud[i] > 0) {
        e->mud[i]--;
        e->move[i] = REST;
        return 0.0f;
    }
    switch (move) {
    case REST:
        e->stamina[i] += 0.06f;
        break;
    case PULL:
        power = 0.35f;
        e->stamina[i] -= 0.02f;
        break;
    case HEAVE:
        power = on_beat ? 1.0f : 0.5f;
        e->stamina[i] -= 0.07f;
        if (chance(e) < e->slip || e->stamina[i] < 0.0f) e->mud[i] = MUD_TICKS;
        break;
    case BRACE:
        power = 0.2f;
        e->stamina[i] += 0.02f;
        break;
    }
    e->stamina[i] = fminf(fmaxf(e->stamina[i], 0.0f), 1.0f);
    return power * e->strength[i] * (0.3f + 0.7f * e->stamina[i]);
}

void c_step(Tugofwar* e) {
    float force = 0.0f;
    int braced[2] = {0, 0};
    int on_beat = (e->tick + e->phase) % e->beat == 0;
    FOR_ALL(i) {
        e->rewards[i] = 0.0f;
        e->terminals[i] = 0.0f;
        force += SIGN(i) * effort(e, i, (int)e->actions[i], on_beat);
        braced[TEAM_OF(i)] += e->move[i] == BRACE;
    }
    /* the braced hold the rope against the other side */
    int held = force < 0 ? braced[1] : braced[0];
    e->speed = e->drag * e->speed + 0.2f * force / (1.0f + 0.5f * held);
    e->knot += e->speed;
    e->tick++;
    e->trail_head = (e->trail_head + 1) % HISTORY;
    e->trail[e->trail_head] = e->knot;

    int winner = e->knot <= -e->line ? 0 : e->knot >= e->line ? 1 : -1;
    int over = winner >= 0 || e->tick >= e->max_ticks;
    FOR_ALL(i) {
        e->rewards[i] += SIGN(i) * 0.05f * limit(e->speed, 1.0f);
        if (e->mud[i] == MUD_TICKS) e->rewards[i] -= 0.02f;
        if (winner >= 0) e->rewards[i] += winner == TEAM_OF(i) ? 1.0f : -1.0f;
        e->returns[i] += e->rewards[i];
        if (!over) continue;
        e->terminals[i] = 1.0f;
        e->log.perf += winner < 0 ? 0.5f : winner == TEAM_OF(i) ? 1.0f : 0.0f;
        e->log.score += SIGN(i) * e->knot;
        e->log.episode_return += e->returns[i];
        e->log.episode_length += (float)e->tick;
        e->log.n += 1.0f;
    }
    if (over) c_reset(e);
    else fill(e);
}

void c_render(Tugofwar* e) {
    if (!IsWindowReady()) { InitWindow(800, 240, "tug of war"); SetTargetFPS(12); }
    BeginDrawing();
    ClearBackground(DARKGREEN);
    int x = 400 + (int)(e->knot / e->line * 120.0f);
    DrawLine(100, 120, 700, 120, BROWN);
    DrawCircle(x, 120, 8.0f, RED);
    FOR_ALL(i) {
        int px = x + (TEAM_OF(i) ? 1 : -1) * (60 + 50 * (i % TEAM));
        DrawCircle(px, e->mud[i] ? 150 : 115, 14.0f, TEAM_OF(i) ? BLUE : GOLD);
    }
    EndDrawing();
}

void c_close(Tugofwar* e) { (void)e; }
