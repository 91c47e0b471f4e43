/*
 * puckball.h
 *
 * Two against two on a walled field, and a puck to be put into the other side's goal.
 *
 *     +---------------------------+
 *     |                           |
 *     |      0             2      |
 *    [|             .             |]       seats 0 and 1 defend the left goal,
 *     |      1             3      |        seats 2 and 3 the right one
 *     |                           |
 *     +---------------------------+
 *
 * Everybody pushes itself about and may lunge now and then; a body that meets the puck knocks it on.
 * After each goal there is a kick-off. At every kick-off the coach gives each player a role, and tells
 * nobody else: to press (be near the puck) or to hold (stay behind it), which pays a little.
 * A match is over after its time and some stoppage, or when one side leads by enough.
 *
 * The puck is seen as it was some ticks ago. The right side sees the field turned by half a circle,
 * and its actions are turned as well, so that for everybody the goal to attack lies at +x.
 */
#pragma once
#include <math.h>
#include <stdlib.h>
#include "raylib.h"

#define SEATS 4
enum { LEFT, RIGHT };
#define SIDE_OF(i) ((i) / 2)

// One seat's row: itself 6, the puck 4, mate and both opponents 4 each, the match 2
#define OBS_SIZE (6 + 4 + 4 * (SEATS - 1) + 2)  // [-1, 1]

#define ACT_SIZES {1, 1, 1}                     // push along x, push along y, lunge if above 0
#define ACTS 3

#define SKATER_R 0.6f
#define PUCK_R 0.35f
#define PUSH 0.06f              // speed gained in a tick of full push
#define GLIDE 0.9f              // share of a skater's speed that is left after a tick
#define LUNGE 0.4f
#define LUNGE_REST 25           // ticks before the next one
#define SKATER_TOP 0.9f
#define PUCK_TOP 1.2f
#define BOUNCE 0.8f
#define KNOCK 0.25f             // what a skater adds to the speed of a puck that it meets

#define PAY_GOAL 1.0f
#define PAY_FIRST 0.05f
#define PAY_ROLE 0.002f
#define NEAR_PUCK 4.0f
#define BEHIND_PUCK 2.0f

enum { PRESS, HOLD };
typedef struct Log {            // four entries a match, one a seat
    float perf;                 // goals of one's side, of the lead that wins a match; 1 at most
    float score;                // goals of one's side
    float episode_return, episode_length, touches, n;
} Log;

typedef struct Body { float x, y, vx, vy; } Body;

typedef struct Skater {
    Body body;
    int rest;                   // ticks until it may lunge
    int role;                   // puffer: private
    int touches;                // of this match
    float earned;               // of this match
} Skater;

typedef struct Puckball {
    Log log;
    float *observations, *actions, *rewards, *terminals;
    int num_agents;
    unsigned int rng;

    // settings
    float width, height;
    float mouth;                // width of a goal
    float drag;                 // share of its speed that the puck loses in a tick
    float shaping;              // for the puck's way across the field, towards the goal to attack
    int match_ticks;
    int stoppage;               // at most so many ticks more
    int lead;                   // so many goals ahead ends the match
    int lag;                    // the puck is seen as it was so many ticks ago

    Skater skater[SEATS];
    Body puck;
    Body* past;                 // ring of lag + 1
    int head;                   // the newest of it
    int fresh;                  // nobody has touched it since the kick-off
    int goals[2];
    int length, tick;           // ticks of this match, in all and so far
} Puckball;

static unsigned int roll(unsigned int* state) {
    *state = *state * 747796405u + 2891336453u;
    unsigned int word = ((*state >> ((*state >> 28) + 4u)) ^ *state) * 277803737u;
    return (word >> 22) ^ word;
}

static float between(Puckball* env, float low, float high) {
    return low + (high - low) * ((float)(roll(&env->rng) >> 8) / 16777215.0f);
}

static float limit(float v, float low, float high) {
    return v < low ? low : v > high ? high : v;
}

static void cap_speed(Body* b, float top) {
    float speed = sqrtf(b->vx * b->vx + b->vy * b->vy);
    if (speed > top) b->vx *= top / speed, b->vy *= top / speed;
}

static float* put_body(const Puckball* env, float* o, const Body* me, const Body* b, float turn) {
    *o++ = turn * (b->x - me->x) / env->width;
    *o++ = turn * (b->y - me->y) / env->height;
    *o++ = turn * (b->vx - me->vx) / (SKATER_TOP + PUCK_TOP);
    *o++ = turn * (b->vy - me->vy) / (SKATER_TOP + PUCK_TOP);
    return o;
}

static void see(Puckball* env) {
    const int ring = env->lag + 1;
    const Body* shown = &env->past[(env->head + ring - env->lag) % ring];
    for (int i = 0; i < SEATS; i++) {
        const Skater* me = &env->skater[i];
        const int side = SIDE_OF(i);
        const float turn = side == LEFT ? 1.0f : -1.0f;
        float* o = env->observations + i * OBS_SIZE;
        *o++ = turn * (2.0f * me->body.x / env->width - 1.0f);
        *o++ = turn * (2.0f * me->body.y / env->height - 1.0f);
        *o++ = turn * me->body.vx;              // SKATER_TOP at most
        *o++ = turn * me->body.vy;
        *o++ = 1.0f - (float)me->rest / (float)LUNGE_REST;
        *o++ = me->role == PRESS ? 1.0f : -1.0f;
        o = put_body(env, o, &me->body, shown, turn);
        for (int k = 1; k < SEATS; k++) {       // i ^ 1 is the mate, the other two are not
            o = put_body(env, o, &me->body, &env->skater[i ^ k].body, turn);
        }
        *o++ = limit((float)(env->goals[side] - env->goals[1 - side]) / (float)env->lead, -1.0f, 1.0f);
        *o++ = (float)(env->length - env->tick) / (float)(env->match_ticks + env->stoppage);
    }
}

static void kick_off(Puckball* env, float drift) {
    for (int i = 0; i < SEATS; i++) {
        Skater* s = &env->skater[i];
        float x = env->width * between(env, 0.15f, 0.35f);
        float y = env->height * (i % 2 == 0 ? between(env, 0.2f, 0.4f) : between(env, 0.6f, 0.8f));
        s->body.x = SIDE_OF(i) == LEFT ? x : env->width - x;
        s->body.y = y;
        s->body.vx = s->body.vy = 0.0f;
        s->rest = 0;
        s->role = (int)(roll(&env->rng) >> 31) ? HOLD : PRESS;
    }
    env->puck.x = env->width / 2.0f;
    env->puck.y = env->height * between(env, 0.3f, 0.7f);
    env->puck.vx = drift;
    env->puck.vy = between(env, -0.1f, 0.1f);
    env->fresh = 1;
    env->head = 0;
    for (int k = 0; k <= env->lag; k++) env->past[k] = env->puck;
}

void init(Puckball* env) {
    env->num_agents = SEATS;
    env->past = (Body*)calloc((size_t)env->lag + 1, sizeof(Body));
}

void c_reset(Puckball* env) {
    env->goals[LEFT] = env->goals[RIGHT] = 0;
    env->tick = 0;
    env->length = env->match_ticks + (int)between(env, 0.0f, (float)env->stoppage);
    for (int i = 0; i < SEATS; i++) env->skater[i].touches = 0, env->skater[i].earned = 0.0f;
    kick_off(env, 0.0f);
    see(env);
}

static void skate(Puckball* env, int i) {
    Skater* s = &env->skater[i];
    Body* b = &s->body;
    const float* a = env->actions + i * ACTS;
    const float turn = SIDE_OF(i) == LEFT ? 1.0f : -1.0f;
    float px = turn * limit(a[0], -1.0f, 1.0f), py = turn * limit(a[1], -1.0f, 1.0f);
    b->vx = GLIDE * b->vx + PUSH * px;
    b->vy = GLIDE * b->vy + PUSH * py;
    if (s->rest > 0) {
        s->rest--;
    } else if (a[2] > 0.0f) {
        b->vx += LUNGE * px;
        b->vy += LUNGE * py;
        s->rest = LUNGE_REST;
    }
    cap_speed(b, SKATER_TOP);
    b->x += b->vx, b->y += b->vy;
}

static void fence(const Puckball* env, Body* b) {
    cap_speed(b, SKATER_TOP);
    float x = limit(b->x, SKATER_R, env->width - SKATER_R);
    float y = limit(b->y, SKATER_R, env->height - SKATER_R);
    if (x != b->x) b->vx = 0.0f;
    if (y != b->y) b->vy = 0.0f;
    b->x = x, b->y = y;
}

// How far, and in which direction; any one if they are in the same place
static float apart(const Body* from, const Body* to, float* nx, float* ny) {
    float dx = to->x - from->x, dy = to->y - from->y, d = sqrtf(dx * dx + dy * dy);
    *nx = d > 1e-5f ? dx / d : 1.0f;
    *ny = d > 1e-5f ? dy / d : 0.0f;
    return d;
}

// Two skaters that overlap are put apart, and swap what speed they have along the line between them
static void bump(Body* a, Body* b) {
    float nx, ny, overlap = 2.0f * SKATER_R - apart(a, b, &nx, &ny);
    if (overlap <= 0.0f) return;
    a->x -= 0.5f * overlap * nx, a->y -= 0.5f * overlap * ny;
    b->x += 0.5f * overlap * nx, b->y += 0.5f * overlap * ny;
    float closing = (a->vx - b->vx) * nx + (a->vy - b->vy) * ny;
    if (closing <= 0.0f) return;
    a->vx -= closing * nx, a->vy -= closing * ny;
    b->vx += closing * nx, b->vy += closing * ny;
}

// 1 if the skater met the puck: it is put off the skater and sent away from it
static int knock(const Body* s, Body* puck) {
    float nx, ny;
    if (apart(s, puck, &nx, &ny) >= SKATER_R + PUCK_R) return 0;
    puck->x = s->x + (SKATER_R + PUCK_R) * nx;
    puck->y = s->y + (SKATER_R + PUCK_R) * ny;
    float closing = (s->vx - puck->vx) * nx + (s->vy - puck->vy) * ny;
    if (closing > 0.0f) {
        puck->vx += (1.0f + BOUNCE) * closing * nx;
        puck->vy += (1.0f + BOUNCE) * closing * ny;
    }
    puck->vx += KNOCK * nx;
    puck->vy += KNOCK * ny;
    return 1;
}

// The side that has scored, or -1. Keeps a puck on the field otherwise
static int walls(const Puckball* env, Body* p) {
    int facing = fabsf(p->y - env->height / 2.0f) < env->mouth / 2.0f;
    if (facing && p->x < 0.0f) return RIGHT;
    if (facing && p->x > env->width) return LEFT;
    if (p->y < PUCK_R || p->y > env->height - PUCK_R) {
        p->y = limit(p->y, PUCK_R, env->height - PUCK_R);
        p->vy = p->y < env->height / 2.0f ? BOUNCE * fabsf(p->vy) : -BOUNCE * fabsf(p->vy);
    }
    if (!facing && (p->x < PUCK_R || p->x > env->width - PUCK_R)) {
        p->x = limit(p->x, PUCK_R, env->width - PUCK_R);
        p->vx = p->x < env->width / 2.0f ? BOUNCE * fabsf(p->vx) : -BOUNCE * fabsf(p->vx);
    }
    return -1;
}

static float role_pay(const Puckball* env, int i) {
    const Skater* s = &env->skater[i];
    float dx = env->puck.x - s->body.x, dy = env->puck.y - s->body.y, pay = 0.0f;
    if (SIDE_OF(i) == RIGHT) dx = -dx;
    if (s->role == PRESS && dx * dx + dy * dy < NEAR_PUCK * NEAR_PUCK) pay = PAY_ROLE;
    if (s->role == HOLD && dx > BEHIND_PUCK) pay = PAY_ROLE;
    return pay;
}

void c_step(Puckball* env) {
    float pay[SEATS] = {0};
    env->tick++;
    for (int i = 0; i < SEATS; i++) skate(env, i);
    for (int i = 0; i < SEATS; i++) {
        for (int j = i + 1; j < SEATS; j++) bump(&env->skater[i].body, &env->skater[j].body);
    }
    for (int i = 0; i < SEATS; i++) fence(env, &env->skater[i].body);

    const float before = env->puck.x;
    env->puck.vx *= 1.0f - env->drag;
    env->puck.vy *= 1.0f - env->drag;
    env->puck.x += env->puck.vx;
    env->puck.y += env->puck.vy;
    for (int i = 0; i < SEATS; i++) {
        if (!knock(&env->skater[i].body, &env->puck)) continue;
        env->skater[i].touches++;
        if (env->fresh) pay[i] += PAY_FIRST;
        env->fresh = 0;
    }
    cap_speed(&env->puck, PUCK_TOP);
    const int scorer = walls(env, &env->puck);
    const float way = env->shaping * (env->puck.x - before) / env->width;

    for (int i = 0; i < SEATS; i++) {
        pay[i] += role_pay(env, i);
        pay[i] += SIDE_OF(i) == LEFT ? way : -way;
        if (scorer >= 0) pay[i] += SIDE_OF(i) == scorer ? PAY_GOAL : -PAY_GOAL;
        env->skater[i].earned += pay[i];
    }
    if (scorer >= 0) env->goals[scorer]++;
    const int over = env->tick >= env->length || abs(env->goals[LEFT] - env->goals[RIGHT]) >= env->lead;
    for (int i = 0; i < SEATS; i++) {
        env->rewards[i] = pay[i];
        env->terminals[i] = over ? 1.0f : 0.0f;
    }

    if (over) {
        for (int i = 0; i < SEATS; i++) {
            const int scored = env->goals[SIDE_OF(i)];
            env->log.perf += (float)(scored < env->lead ? scored : env->lead) / (float)env->lead;
            env->log.score += (float)scored;
            env->log.episode_return += env->skater[i].earned;
            env->log.episode_length += (float)env->tick;
            env->log.touches += (float)env->skater[i].touches;
            env->log.n += 1.0f;
        }
        c_reset(env);
        return;
    }
    if (scorer >= 0) {
        kick_off(env, scorer == LEFT ? 0.15f : -0.15f);     // towards those who let it in
    } else {
        env->head = (env->head + 1) % (env->lag + 1);
        env->past[env->head] = env->puck;
    }
    see(env);
}

void c_close(Puckball* env) {
    free(env->past);
}

void c_render(Puckball* env) {
    const float zoom = 40.0f;
    const int w = (int)(env->width * zoom), h = (int)(env->height * zoom), m = (int)(env->mouth * zoom);
    if (!IsWindowReady()) InitWindow(w, h, "puckball");
    BeginDrawing(), ClearBackground(RAYWHITE);
    DrawLine(w / 2, 0, w / 2, h, LIGHTGRAY);
    DrawRectangle(0, (h - m) / 2, 6, m, RED);
    DrawRectangle(w - 6, (h - m) / 2, 6, m, BLUE);
    for (int i = 0; i < SEATS; i++) {
        const Body* b = &env->skater[i].body;
        DrawCircle((int)(b->x * zoom), (int)(b->y * zoom), SKATER_R * zoom, SIDE_OF(i) == LEFT ? RED : BLUE);
        DrawText(TextFormat("%d", i), (int)(b->x * zoom) - 5, (int)(b->y * zoom) - 10, 20, RAYWHITE);
    }
    DrawCircle((int)(env->puck.x * zoom), (int)(env->puck.y * zoom), PUCK_R * zoom, BLACK);
    DrawText(TextFormat("%d : %d   %d", env->goals[LEFT], env->goals[RIGHT], env->length - env->tick), w / 2 - 50, 10, 24, DARKGRAY);
    EndDrawing();
}
