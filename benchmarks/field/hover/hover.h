/* hover.h: a hovercraft race around a ring of gates.
 *
 * Craft slide over the marsh with hardly any grip. Each has two levers: rudder and fan,
 * both -1..1. Gates have to be taken in order; whoever has taken `goal` gates first wins
 * and the race is over for everybody. When daylight is gone (`daylight` ticks) the race
 * is called off: a truncation.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

/* own: cos, sin, vx, vy, spin, gate ahead (x, y), gate after it (x, y), taken, light;
   then the offset of every rival (x, y) */
#define OWN_OBS 11
#define OBS_SIZE (OWN_OBS + 2 * (env->num_agents - 1))
#define ACT_SIZES {1, 1}
enum { LEVER_RUDDER, LEVER_FAN, LEVERS };

#define TOP_SPEED 5.0f
#define TOP_SPIN 0.35f
#define HULL 4.0f

typedef struct Log {
    float perf, score, episode_return, episode_length;
    float n;
} Log;

typedef struct Craft {
    Vector2 at, v;
    float heading, spin;
    int next;           /* index of the gate ahead */
    int taken;
    float total;        /* rewards of this race */
} Craft;

typedef struct Hover {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    unsigned int rng;
    int num_agents, gates, goal, daylight;
    float marsh, reach, drag;       /* marsh: side of the square */
    Craft* craft;
    Vector2* gate;
    int tick;
} Hover;

static float frand(Hover* env) {
    uint32_t z = (env->rng += 0x6D2B79F5u);
    z = (z ^ (z >> 15)) * (z | 1u);
    z ^= z + (z ^ (z >> 7)) * (z | 61u);
    return (float)((z ^ (z >> 14)) >> 8) * (1.0f / 16777216.0f);
}

static float limit(float x, float most) {
    return fmaxf(-most, fminf(most, x));
}

void init(Hover* env) {
    if (env->gates < 1) env->gates = 1;
    if (env->goal < 1) env->goal = 1;
    if (env->daylight < 1) env->daylight = 1;
    env->craft = calloc(env->num_agents, sizeof(Craft));
    env->gate = calloc(env->gates, sizeof(Vector2));
}

void c_close(Hover* env) {
    free(env->craft);
    free(env->gate);
}

static void observe_craft(Hover* env, int i) {
    float* obs = env->observations + i * OBS_SIZE;
    const Craft* me = &env->craft[i];
    Vector2 ahead = env->gate[me->next];
    Vector2 after = env->gate[(me->next + 1) % env->gates];
    obs[0] = cosf(me->heading);
    obs[1] = sinf(me->heading);
    obs[2] = me->v.x / TOP_SPEED;
    obs[3] = me->v.y / TOP_SPEED;
    obs[4] = me->spin / TOP_SPIN;
    obs[5] = (ahead.x - me->at.x) / env->marsh;
    obs[6] = (ahead.y - me->at.y) / env->marsh;
    obs[7] = (after.x - me->at.x) / env->marsh;
    obs[8] = (after.y - me->at.y) / env->marsh;
    obs[9] = (float)me->taken / env->goal;
    obs[10] = 1.0f - (float)env->tick / env->daylight;
    for (int j = 0, k = OWN_OBS; j < env->num_agents; j++) {
        if (j == i) continue;
        obs[k++] = (env->craft[j].at.x - me->at.x) / env->marsh;
        obs[k++] = (env->craft[j].at.y - me->at.y) / env->marsh;
    }
}

void c_reset(Hover* env) {
    env->tick = 0;
    for (int g = 0; g < env->gates; g++) {
        float angle = 2.0f * PI * (g + 0.6f * frand(env)) / env->gates;
        float radius = env->marsh * (0.25f + 0.15f * frand(env));
        env->gate[g].x = 0.5f * env->marsh + radius * cosf(angle);
        env->gate[g].y = 0.5f * env->marsh + radius * sinf(angle);
    }
    for (int i = 0; i < env->num_agents; i++) {
        Craft* c = &env->craft[i];
        c->at.x = env->marsh * (0.3f + 0.4f * frand(env));
        c->at.y = env->marsh * (0.3f + 0.4f * frand(env));
        c->v = (Vector2){0.0f, 0.0f};
        c->heading = 2.0f * PI * frand(env);
        c->spin = 0.0f;
        c->next = 0;
        c->taken = 0;
        c->total = 0.0f;
    }
    for (int i = 0; i < env->num_agents; i++) observe_craft(env, i);
}

/* returns the speed of an impact with the bank, or 0 */
static float bank(float* x, float* v, float side) {
    if (*x >= HULL && *x <= side - HULL) return 0.0f;
    float hit = fabsf(*v);
    *x = fmaxf(HULL, fminf(side - HULL, *x));
    *v *= -0.5f;
    return hit;
}

static float drive(Hover* env, Craft* c, const float* lever) {
    float rudder = limit(lever[LEVER_RUDDER], 1.0f);
    float fan = limit(lever[LEVER_FAN], 1.0f);
    c->spin = limit(0.8f * c->spin + 0.1f * rudder, TOP_SPIN);
    c->heading = fmodf(c->heading + c->spin, 2.0f * PI);
    float power = 0.35f + 0.25f * fan;
    c->v.x = limit((1.0f - env->drag) * c->v.x + power * cosf(c->heading), TOP_SPEED);
    c->v.y = limit((1.0f - env->drag) * c->v.y + power * sinf(c->heading), TOP_SPEED);
    c->at.x += c->v.x;
    c->at.y += c->v.y;
    return bank(&c->at.x, &c->v.x, env->marsh) + bank(&c->at.y, &c->v.y, env->marsh);
}

static void log_race(Hover* env) {
    for (int i = 0; i < env->num_agents; i++) {
        Craft* c = &env->craft[i];
        env->log.perf += (float)c->taken / env->goal;
        env->log.score += (float)c->taken;
        env->log.episode_return += c->total;
        env->log.episode_length += (float)env->tick;
        env->log.n += 1.0f;
    }
}

void c_step(Hover* env) {
    const int n = env->num_agents;
    memset(env->rewards, 0, n * sizeof(float));
    memset(env->terminals, 0, n * sizeof(float));
    memset(env->truncations, 0, n * sizeof(float));
    env->tick++;
    int winner = -1;
    for (int i = 0; i < n; i++) {
        Craft* c = &env->craft[i];
        float bump = drive(env, c, env->actions + i * LEVERS);
        env->rewards[i] -= 0.02f * bump;
        Vector2 g = env->gate[c->next];
        if (hypotf(g.x - c->at.x, g.y - c->at.y) < env->reach) {
            env->rewards[i] += 0.5f;
            c->next = (c->next + 1) % env->gates;
            c->taken++;
            if (c->taken >= env->goal && winner < 0) winner = i;
        }
    }
    if (winner >= 0) {
        for (int i = 0; i < n; i++) env->rewards[i] += i == winner ? 1.0f : -1.0f;
    }
    for (int i = 0; i < n; i++) env->craft[i].total += env->rewards[i];
    int dark = env->tick >= env->daylight;
    if (winner >= 0 || dark) {
        for (int i = 0; i < n; i++) {
            env->terminals[i] = 1.0f;
            env->truncations[i] = winner < 0 ? 1.0f : 0.0f;
        }
        log_race(env);
        c_reset(env);
        return;
    }
    for (int i = 0; i < n; i++) observe_craft(env, i);
}

void c_render(Hover* env) {
    if (!IsWindowReady()) {
        InitWindow(640, 640, "hover");
        SetTargetFPS(30);
    }
    float s = 640.0f / env->marsh;
    BeginDrawing();
    ClearBackground(DARKGREEN);
    for (int i = 0; i < env->num_agents; i++) DrawCircle(s * env->craft[i].at.x, s * env->craft[i].at.y, s * HULL, ORANGE);
    EndDrawing();
}
