// Archers on a wall. Unusual, and right: whoever is hit waits, with his row as it was, until all
// are down; the aim matters only to those who shoot; a scout reports every eighth tick only; the
// last reward and the last action are observed; a generator of its own places the enemy.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define OBS_SIZE 6
#define ACT_SIZES {3, 5}

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Archer {
    float place, arrows, last_reward, last_action;
    int down;
} Archer;

typedef struct Siege {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int archers;
    Archer* wall;           // (archers) on the heap
    uint64_t enemy_rng;     // goes on from episode to episode
    float enemy, seen, total;
    int tick;
} Siege;

static float chance(Siege* s) {
    s->rng = s->rng * 1664525u + 1013904223u;
    return (float)(s->rng >> 8) / 16777216.0f;
}

static float enemy_chance(Siege* s) {
    s->enemy_rng = s->enemy_rng * 6364136223846793005u + 1442695040888963407u;
    return (float)(s->enemy_rng >> 40) / 16777216.0f;
}

void init(Siege* s) {
    s->num_agents = s->archers;
    s->wall = calloc((size_t)s->archers, sizeof *s->wall);
    s->enemy_rng = s->rng;
}

static void observe(Siege* s, int i) {
    float* o = s->observations + i * OBS_SIZE;
    const Archer* a = &s->wall[i];
    o[0] = a->place;
    o[1] = a->arrows / 10.0f;
    o[2] = s->seen;
    o[3] = a->last_reward;
    o[4] = a->last_action / 3.0f;
    o[5] = (float)s->tick / 200.0f;
}

void c_reset(Siege* s) {
    s->tick = 0;
    s->total = 0.0f;
    s->enemy = 2.0f * enemy_chance(s) - 1.0f;
    s->seen = s->enemy;
    for (int i = 0; i < s->num_agents; i++) {
        s->wall[i] = (Archer){.place = 2.0f * chance(s) - 1.0f, .arrows = 10.0f};
        observe(s, i);
    }
}

void c_step(Siege* s) {
    int standing = 0;
    s->tick++;
    s->enemy += 0.2f * (enemy_chance(s) - 0.5f);
    if (s->tick % 8 == 0) s->seen = s->enemy;
    for (int i = 0; i < s->num_agents; i++) {
        Archer* a = &s->wall[i];
        s->rewards[i] = 0.0f;
        s->terminals[i] = 0.0f;
        if (a->down) continue;
        int act = (int)s->actions[2 * i];
        float aim = (s->actions[2 * i + 1] - 2.0f) / 2.0f;
        if (act == 1) a->place += a->place < 0.0f ? 0.1f : -0.1f;
        if (act == 2 && a->arrows > 0.0f) {
            a->arrows -= 1.0f;
            if (fabsf(a->place + aim - s->enemy) < 0.2f) s->rewards[i] = 1.0f;
        }
        a->last_reward = s->rewards[i];
        a->last_action = (float)act;
        s->total += s->rewards[i] / (float)s->num_agents;
        if (chance(s) < 0.02f) {
            a->down = 1;
            s->rewards[i] -= 1.0f;
            s->total -= 1.0f / (float)s->num_agents;
            s->terminals[i] = 1.0f;
        }
        standing += !a->down;
        observe(s, i);
    }
    if (standing == 0 || s->tick == 200) {
        for (int i = 0; i < s->num_agents; i++) if (!s->wall[i].down) s->terminals[i] = 1.0f;
        s->log.perf += fmaxf(0.0f, fminf(1.0f, s->total / 5.0f));
        s->log.score += s->total;
        s->log.episode_return += s->total;
        s->log.episode_length += (float)s->tick;
        s->log.n += 1.0f;
        c_reset(s);
    }
}

void c_render(Siege* s) { (void)s; }
void c_close(Siege* s) { free(s->wall); }
