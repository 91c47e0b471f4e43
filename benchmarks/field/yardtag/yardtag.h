/* yardtag -- a dozen kids, three of them "it". Being tagged ends that kid's episode only:
 * the kid comes back somewhere else while everybody else plays on. Two heads: step in x, step in y.
 */
#ifndef YARDTAG_H
#define YARDTAG_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

/* each kid sees itself (x, y, it, tired, age) and its NEAR nearest kids in sight (dx, dy, it, seen) */
#define SELF      5
#define NEAR      4
#define PER_KID   4
#define OBS_SIZE  (SELF + NEAR * PER_KID)
#define ACT_SIZES {3, 3}

typedef struct Log {
    float perf;             /* share of a full life that was lived */
    float score;            /* tags made */
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Kid {
    float x, y;
    int it;
    int tired;              /* ticks of slow walking left after a tag */
    int age;
    int tags;
    float ret;
} Kid;

typedef struct Yardtag {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    /* settings */
    int num_it;
    int max_age;
    float side;             /* of the square yard, m */
    float reach;
    float sight;
    /* private */
    Kid* kids;
    int* order;             /* scratch: indices by distance */
} Yardtag;

static unsigned int next_u32(unsigned int* s) {
    *s += 0x9E3779B9u;
    unsigned int z = *s;
    z = (z ^ (z >> 16)) * 0x85EBCA6Bu;
    z = (z ^ (z >> 13)) * 0xC2B2AE35u;
    return z ^ (z >> 16);
}

static float frand(unsigned int* s) {
    return (next_u32(s) >> 8) * (1.0f / 16777216.0f);
}

static float dist2(const Kid* a, const Kid* b) {
    float dx = a->x - b->x, dy = a->y - b->y;
    return dx * dx + dy * dy;
}

static float bound(float v, float hi) {
    return v < 0.0f ? 0.0f : v > hi ? hi : v;
}

/* A fresh life; a few tries to land away from those who are it */
static void spawn(Yardtag* env, int i) {
    Kid* k = &env->kids[i];
    for (int tries = 0; tries < 8; tries++) {
        k->x = frand(&env->rng) * env->side;
        k->y = frand(&env->rng) * env->side;
        int safe = 1;
        for (int j = 0; j < env->num_it; j++) {
            if (j != i && dist2(k, &env->kids[j]) < 16.0f * env->reach * env->reach) safe = 0;
        }
        if (safe) break;
    }
    k->it = i < env->num_it;
    k->tired = 0;
    k->age = 0;
    k->tags = 0;
    k->ret = 0.0f;
}

/* Insertion of everybody in sight into env->order, nearest first. Returns how many, NEAR at most */
static int look_around(Yardtag* env, int i) {
    const Kid* me = &env->kids[i];
    int count = 0;
    for (int j = 0; j < env->num_agents; j++) {
        if (j == i) continue;
        float d = dist2(me, &env->kids[j]);
        if (d > env->sight * env->sight) continue;
        int at = count;
        while (at > 0 && dist2(me, &env->kids[env->order[at - 1]]) > d) {
            env->order[at] = env->order[at - 1];
            at--;
        }
        env->order[at] = j;
        count++;
    }
    return count < NEAR ? count : NEAR;
}

static void observe_kid(Yardtag* env, int i) {
    const Kid* me = &env->kids[i];
    float* o = &env->observations[i * OBS_SIZE];
    o[0] = me->x / env->side;
    o[1] = me->y / env->side;
    o[2] = (float)me->it;
    o[3] = me->tired / 8.0f;
    o[4] = (float)me->age / (float)env->max_age;
    int seen = look_around(env, i);
    for (int s = 0; s < NEAR; s++) {
        float* p = o + SELF + s * PER_KID;
        if (s < seen) {
            const Kid* other = &env->kids[env->order[s]];
            p[0] = (other->x - me->x) / env->sight;
            p[1] = (other->y - me->y) / env->sight;
            p[2] = (float)other->it;
            p[3] = 1.0f;
        } else {
            memset(p, 0, PER_KID * sizeof(float));
        }
    }
}

static void observe_all(Yardtag* env) {
    for (int i = 0; i < env->num_agents; i++) observe_kid(env, i);
}

static void move_kid(Yardtag* env, int i) {
    Kid* k = &env->kids[i];
    float dx = env->actions[2 * i] - 1.0f;
    float dy = env->actions[2 * i + 1] - 1.0f;
    float pace = k->it ? 0.55f : 0.5f;
    if (k->tired > 0) {
        k->tired--;
        pace *= 0.3f;
    }
    if (dx != 0.0f && dy != 0.0f) pace *= 0.7071f;
    k->x = bound(k->x + dx * pace, env->side);
    k->y = bound(k->y + dy * pace, env->side);
}

static void give(Yardtag* env, int i, float r) {
    env->rewards[i] += r;
    env->kids[i].ret += r;
}

static void end_life(Yardtag* env, int i) {
    Kid* k = &env->kids[i];
    env->terminals[i] = 1.0f;
    env->log.perf += (float)k->age / (float)env->max_age;
    env->log.score += (float)k->tags;
    env->log.episode_return += k->ret;
    env->log.episode_length += (float)k->age;
    env->log.n += 1.0f;
    spawn(env, i);
}

/* Everybody within reach of a kid that is it and not tired; one tag per tagger and tick */
static void tag_round(Yardtag* env) {
    for (int t = 0; t < env->num_it; t++) {
        Kid* tagger = &env->kids[t];
        if (tagger->tired > 0) continue;
        for (int i = env->num_it; i < env->num_agents; i++) {
            if (env->terminals[i] != 0.0f) continue;        /* only just back */
            if (dist2(tagger, &env->kids[i]) > env->reach * env->reach) continue;
            give(env, t, 1.0f);
            tagger->tags++;
            tagger->tired = 8;
            give(env, i, -1.0f);
            end_life(env, i);
            break;
        }
    }
}

void init(Yardtag* env) {
    if (env->num_it > env->num_agents) env->num_it = env->num_agents;
    if (env->max_age < 1) env->max_age = 1;
    env->kids = (Kid*)calloc((size_t)env->num_agents, sizeof(Kid));
    env->order = (int*)calloc((size_t)env->num_agents, sizeof(int));
}

void c_reset(Yardtag* env) {
    for (int i = 0; i < env->num_agents; i++) {
        env->kids[i].x = env->kids[i].y = -1000.0f;         /* nobody there yet */
    }
    for (int i = 0; i < env->num_agents; i++) spawn(env, i);
    observe_all(env);
}

void c_step(Yardtag* env) {
    for (int i = 0; i < env->num_agents; i++) {
        env->rewards[i] = 0.0f;
        env->terminals[i] = 0.0f;
    }
    for (int i = 0; i < env->num_agents; i++) {
        move_kid(env, i);
        env->kids[i].age++;
    }
    tag_round(env);
    for (int i = 0; i < env->num_agents; i++) {
        if (env->terminals[i] != 0.0f) continue;
        if (!env->kids[i].it) give(env, i, 0.005f);
        /* old kids go home for dinner, some earlier than others */
        if (env->kids[i].age >= env->max_age
                || (env->kids[i].age > env->max_age / 2 && frand(&env->rng) < 0.01f)) {
            end_life(env, i);
        }
    }
    observe_all(env);
}

void c_render(Yardtag* env) {
    const float scale = 600.0f / env->side;
    if (!IsWindowReady()) {
        InitWindow(600, 600, "yardtag");
        SetTargetFPS(20);
    }
    BeginDrawing();
    ClearBackground(DARKGREEN);
    for (int i = 0; i < env->num_agents; i++) {
        const Kid* k = &env->kids[i];
        DrawCircle((int)(k->x * scale), (int)(k->y * scale), 9.0f, k->it ? RED : SKYBLUE);
    }
    EndDrawing();
}

void c_close(Yardtag* env) {
    free(env->order);
    free(env->kids);
}

#endif
