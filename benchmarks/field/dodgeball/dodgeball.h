/* dodgeball.h -- two against two, a line between them, and a few balls to throw.  Four agents,
 * all of them learn; each has three discrete heads: walk, throw, duck.
 *
 * The court goes from -1 to 1, and from -HALF_HEIGHT to HALF_HEIGHT. Agents 0 and 1 have the
 * half with x < 0, agents 2 and 3 the other. Balls lie on both at first. Who walks onto a ball on the floor picks it up, one
 * at most, and may throw it at either foe. A hit scores; the one who was hit stands
 * dazed for a while, when it cannot be hit again. Who ducks can neither be hit nor walk or
 * throw, and has to rest before the next time.
 *
 * A match ends when a team has `points` hits, or after `max_ticks`, when the team that leads
 * has won. The clock is observed: so that is the game's own ending, and no truncation.
 *
 * Everyone sees the court from its own side, turned by half a turn for the second team: its own
 * half is always x < 0, forward is always x growing, left is always y growing.
 */
#pragma once

#include <math.h>               // sinf, cosf, atan2f, fabsf, fminf, fmaxf, hypotf
#include <stdbool.h>
#include <stdlib.h>             // calloc, free
#include <string.h>             // memset
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif

#define TEAM   2                // players a team
#define AGENTS (2 * TEAM)

//-- Interface --------------------------------------------------------------------
// A way is from one place of the court to another, as shares of its length and of its width.
// All is seen from one's own side. Of a player one sees: the way there (x, y), if it holds a ball,
// the share of DAZE_TICKS that it still stands dazed, and the share of REST_TICKS until it may
// duck again (above 1 - DUCK_TICKS / REST_TICKS it is ducked now)
enum {                          // observations, one float each
    OBS_ME,                     // [-1, 1]  me: my way is from the middle of the court
    OBS_MATE = OBS_ME + 5,      // [-1, 1]  my mate: its way, as all that follow, is from me
    OBS_FOES = OBS_MATE + 5,    // [-1, 1]  the first foe, then the second
    OBS_SCORE = OBS_FOES + 5 * TEAM, // [0, 1]  our hits, share of those that win
    OBS_SCORE_FOES,             // [ 0, 1]  theirs
    OBS_CLOCK,                  // [ 0, 1]  share of the ticks that are left
    OBS_BALLS                   // [-1, 1]  of each ball: way (x, y), speed (x, y) as a share of
                                //          throw_speed, on the floor, in the air from a foe
};
#define BALL_OBS 6
#define OBS_SIZE (OBS_BALLS + BALL_OBS * env->num_balls)

enum { HEAD_WALK, HEAD_THROW, HEAD_DUCK, HEADS };
enum { WALK_STAY, WALK_FORWARD, WALK_BACK, WALK_LEFT, WALK_RIGHT, WALKS };
enum { THROW_NONE, THROW_FIRST, THROW_SECOND, THROWS };     // at the first or the second foe
enum { DUCK_NO, DUCK_DOWN, DUCKS };
#define ACT_SIZES {WALKS, THROWS, DUCKS}
#define ACT_COUNT (WALKS + THROWS + DUCKS)

//-- Rules: those that are no settings --------------------------------------------
#define HALF_HEIGHT   0.6f
#define LINE_GAP      0.05f     // nobody comes closer to the line
#define WALK_SPEED    0.04f
#define PICK_RADIUS   0.12f
#define HIT_RADIUS    0.08f
#define DAZE_TICKS    15
#define DUCK_TICKS    6         // the first of the REST_TICKS
#define REST_TICKS    24        // from one duck to the next
#define HIT_REWARD    0.2f      // for the one who threw; as much is taken from the one hit
#define WIN_REWARD    0.6f      // for both winners; as much is taken from both losers
#define PICK_REWARD   0.02f     // for a ball picked up: a hint on how to begin

typedef struct Log {            // sums over finished matches
    float perf;                 // [0, 1]  matches that were won on points before the clock
    float score;                // hits of both teams
    float episode_return;       // mean of the four
    float episode_length;       // ticks
    float n;                    // matches; last
} Log;

typedef struct Player {
    float x, y;
    int held, dazed, rest;      // index of a ball, or -1; ticks left
    float episode_return;
} Player;

enum { ON_FLOOR, IN_HAND, IN_AIR };
typedef struct Ball {
    float x, y, vx, vy;         // speed 0 unless IN_AIR
    int state, by;              // who holds it or threw it, or -1
} Ball;

typedef struct Dodgeball {
    Log log;
    float* observations;        // out [4 * OBS_SIZE]
    float* actions;             // in  [4 * HEADS]
    float* rewards;             // out [4]
    float* terminals;           // out [4]
    unsigned char* action_mask; // out [4 * ACT_COUNT]  1 = legal
    int num_agents;
    unsigned int rng;
    int num_balls, points, max_ticks;   // settings
    float throw_speed;          // a tick
    float throw_spread;         // a throw goes astray by so much at most, in radians
    Ball* balls;                // (num_balls), from init to c_close
    Player players[AGENTS];     // the rest is set by c_reset
    int score[2], tick;
} Dodgeball;

// PCG: takes any seed. Uniform from low up to high
static inline float random_between(Dodgeball* env, float low, float high) {
    unsigned int old = env->rng;
    env->rng = old * 747796405u + 2891336453u;
    unsigned int word = ((old >> ((old >> 28) + 4u)) ^ old) * 277803737u;
    return low + (high - low) * (float)(((word >> 22) ^ word) >> 8) / 16777216.0f;
}

static inline float clamp(float x, float low, float high) { return fminf(fmaxf(x, low), high); }

static inline int team_of(int i) { return i / TEAM; }
static inline float side_of(int i) { return team_of(i) == 0 ? 1.0f : -1.0f; }
static inline bool ducked(const Player* p) { return p->rest > REST_TICKS - DUCK_TICKS; }
static inline bool able(const Player* p) { return p->dazed == 0 && !ducked(p); }

//-- What each one sees and may do ------------------------------------------------
static inline void observe_player(float* row, const Player* from, const Player* other, float side) {
    row[0] = 0.5f * (other->x - from->x) * side;
    row[1] = 0.5f * (other->y - from->y) * side / HALF_HEIGHT;
    row[2] = other->held >= 0 ? 1.0f : 0.0f;
    row[3] = (float)other->dazed / DAZE_TICKS;
    row[4] = (float)other->rest / REST_TICKS;
}

static inline void observe(const Dodgeball* env, int i) {
    const int team = team_of(i);
    const float side = side_of(i);
    const Player* me = &env->players[i];
    float* obs = env->observations + i * (OBS_SIZE);
    observe_player(obs + OBS_ME, &(Player){0}, me, side);
    observe_player(obs + OBS_MATE, me, &env->players[i ^ 1], side);
    for (int k = 0; k < TEAM; k++) {
        const Player* foe = &env->players[(1 - team) * TEAM + k];
        observe_player(obs + OBS_FOES + 5 * k, me, foe, side);
    }
    obs[OBS_SCORE] = fminf((float)env->score[team] / (float)env->points, 1.0f);
    obs[OBS_SCORE_FOES] = fminf((float)env->score[1 - team] / (float)env->points, 1.0f);
    obs[OBS_CLOCK] = 1.0f - (float)env->tick / (float)env->max_ticks;
    for (int b = 0; b < env->num_balls; b++) {
        const Ball* ball = &env->balls[b];
        float* row = obs + OBS_BALLS + BALL_OBS * b;
        row[0] = 0.5f * (ball->x - me->x) * side;
        row[1] = 0.5f * (ball->y - me->y) * side / HALF_HEIGHT;
        row[2] = clamp(ball->vx * side / env->throw_speed, -1.0f, 1.0f);
        row[3] = clamp(ball->vy * side / env->throw_speed, -1.0f, 1.0f);
        row[4] = ball->state == ON_FLOOR ? 1.0f : 0.0f;
        row[5] = ball->state == IN_AIR && team_of(ball->by) != team ? 1.0f : 0.0f;
    }
    unsigned char* mask = env->action_mask + i * ACT_COUNT;     // ducked or dazed: only wait
    const bool may_throw = able(me) && me->held >= 0;
    for (int a = 0; a < WALKS; a++) mask[a] = a == WALK_STAY || able(me);
    for (int a = 0; a < THROWS; a++) mask[WALKS + a] = a == THROW_NONE || may_throw;
    mask[WALKS + THROWS + DUCK_NO] = 1;
    mask[WALKS + THROWS + DUCK_DOWN] = able(me) && me->rest == 0;
}

//-- init, c_close, c_reset -------------------------------------------------------
void init(Dodgeball* env) {
    env->num_agents = AGENTS;
    env->balls = (Ball*)calloc((size_t)env->num_balls, sizeof(Ball));
}

void c_close(Dodgeball* env) { free(env->balls); }

void c_reset(Dodgeball* env) {
    for (int i = 0; i < AGENTS; i++) {
        Player* p = &env->players[i];
        float y = i % TEAM == 0 ? -0.3f : 0.3f;
        p->x = side_of(i) * (-0.7f + random_between(env, -0.1f, 0.1f));
        p->y = side_of(i) * (y + random_between(env, -0.1f, 0.1f));
        p->held = -1;
        p->dazed = p->rest = 0;
        p->episode_return = 0.0f;
    }
    for (int b = 0; b < env->num_balls; b++) {  // by turns on either side
        float x = random_between(env, 0.1f, 0.9f) * (b % 2 == 0 ? -1.0f : 1.0f);
        float y = random_between(env, -0.9f, 0.9f) * HALF_HEIGHT;
        env->balls[b] = (Ball){x, y, 0.0f, 0.0f, ON_FLOOR, -1};
    }
    env->score[0] = env->score[1] = env->tick = 0;
    for (int i = 0; i < AGENTS; i++) observe(env, i);
}

//-- c_step -----------------------------------------------------------------------
static inline void duck_or_walk(Dodgeball* env, int i) {
    Player* p = &env->players[i];
    if (!able(p)) return;
    const float* actions = env->actions + i * HEADS;
    if (p->rest == 0 && (int)actions[HEAD_DUCK] == DUCK_DOWN) {
        p->rest = REST_TICKS;
        return;
    }
    int walk = (int)actions[HEAD_WALK];
    float forward = (float)((walk == WALK_FORWARD) - (walk == WALK_BACK));
    float left = (float)((walk == WALK_LEFT) - (walk == WALK_RIGHT));
    float mine_x = p->x * side_of(i) + forward * WALK_SPEED;    // seen from one's own side
    p->x = side_of(i) * clamp(mine_x, -1.0f, -LINE_GAP);
    p->y = clamp(p->y + side_of(i) * left * WALK_SPEED, -HALF_HEIGHT, HALF_HEIGHT);
}

static inline void throw_or_carry(Dodgeball* env, int i) {
    Player* p = &env->players[i];
    int aim = (int)env->actions[i * HEADS + HEAD_THROW];
    if (p->held < 0) return;
    Ball* ball = &env->balls[p->held];
    ball->x = p->x;
    ball->y = p->y;
    if (aim == THROW_NONE || !able(p)) return;
    const Player* foe = &env->players[(1 - team_of(i)) * TEAM + aim - THROW_FIRST];
    float angle = atan2f(foe->y - p->y, foe->x - p->x);
    angle += random_between(env, -env->throw_spread, env->throw_spread);
    ball->vx = env->throw_speed * cosf(angle);
    ball->vy = env->throw_speed * sinf(angle);
    ball->state = IN_AIR;
    ball->by = i;
    p->held = -1;
}

static inline void drop(Ball* ball) {           // onto the floor, within the court
    *ball = (Ball){clamp(ball->x, -1.0f, 1.0f), clamp(ball->y, -HALF_HEIGHT, HALF_HEIGHT),
                   0.0f, 0.0f, ON_FLOOR, -1};
}

static inline void fly(Dodgeball* env, Ball* ball) {
    ball->x += ball->vx;
    ball->y += ball->vy;
    int thrower = ball->by;
    for (int k = 0; k < TEAM; k++) {
        int victim = (1 - team_of(thrower)) * TEAM + k;
        Player* p = &env->players[victim];
        if (!able(p) || hypotf(p->x - ball->x, p->y - ball->y) > HIT_RADIUS) continue;
        env->rewards[thrower] += HIT_REWARD;
        env->rewards[victim] -= HIT_REWARD;
        env->score[team_of(thrower)] += 1;
        p->dazed = DAZE_TICKS;
        drop(ball);
        return;
    }
    if (fabsf(ball->x) > 1.0f || fabsf(ball->y) > HALF_HEIGHT) drop(ball);
}

// The nearest who is able and has none
static inline void pick_up(Dodgeball* env, int b) {
    Ball* ball = &env->balls[b];
    float nearest = PICK_RADIUS;
    int who = -1;
    for (int i = 0; i < AGENTS; i++) {
        const Player* p = &env->players[i];
        float distance = hypotf(p->x - ball->x, p->y - ball->y);
        if (!able(p) || p->held >= 0 || distance >= nearest) continue;
        nearest = distance;
        who = i;
    }
    if (who < 0) return;
    *ball = (Ball){env->players[who].x, env->players[who].y, 0.0f, 0.0f, IN_HAND, who};
    env->players[who].held = b;
    env->rewards[who] += PICK_REWARD;
}

void c_step(Dodgeball* env) {
    memset(env->rewards, 0, AGENTS * sizeof(float));
    env->tick += 1;
    for (int i = 0; i < AGENTS; i++) duck_or_walk(env, i);      // all, before anyone takes aim
    for (int i = 0; i < AGENTS; i++) throw_or_carry(env, i);
    for (int b = 0; b < env->num_balls; b++) {
        if (env->balls[b].state == IN_AIR) fly(env, &env->balls[b]);
        if (env->balls[b].state == ON_FLOOR) pick_up(env, b);
    }

    const int lead = env->score[0] - env->score[1];
    const bool won = env->score[0] >= env->points || env->score[1] >= env->points;
    const bool over = won || env->tick >= env->max_ticks;
    for (int i = 0; i < AGENTS; i++) {
        Player* p = &env->players[i];
        bool winner = team_of(i) == (lead > 0 ? 0 : 1);
        if (over && lead != 0) env->rewards[i] += winner ? WIN_REWARD : -WIN_REWARD;
        p->episode_return += env->rewards[i];
        p->dazed -= p->dazed > 0;
        p->rest -= p->rest > 0;
        env->terminals[i] = over ? 1.0f : 0.0f;
    }
    for (int i = 0; i < AGENTS; i++) {
        if (over) env->log.episode_return += env->players[i].episode_return / AGENTS;
        else observe(env, i);
    }
    if (!over) return;
    env->log.perf += won ? 1.0f : 0.0f;
    env->log.score += (float)(env->score[0] + env->score[1]);
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);
}

#ifndef PUFFER_DEVICE
static inline void box(float x, float y, int size, Color color) {
    DrawRectangle((int)(400 + 400 * x) - size / 2, (int)(240 - 400 * y) - size / 2, size, size, color);
}

void c_render(Dodgeball* env) {
    if (!IsWindowReady()) InitWindow(800, 480, "dodgeball"), SetTargetFPS(30);
    BeginDrawing();
    ClearBackground(DARKGREEN);
    DrawRectangle(399, 0, 2, 480, RAYWHITE);
    for (int i = 0; i < AGENTS; i++) {
        const Player* p = &env->players[i];
        box(p->x, p->y, ducked(p) ? 16 : 30, p->dazed ? GRAY : team_of(i) ? RED : SKYBLUE);
    }
    for (int b = 0; b < env->num_balls; b++) box(env->balls[b].x, env->balls[b].y, 10, GOLD);
    DrawText(TextFormat("%d : %d", env->score[0], env->score[1]), 370, 10, 20, RAYWHITE);
    EndDrawing();
}
#endif
