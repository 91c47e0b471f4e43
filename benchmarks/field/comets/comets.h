/* comets.h -- a ship that turns, thrusts and shoots among drifting rocks.  One agent, two heads.
 *
 * The arena is a torus: what leaves at one edge comes in at the other. A large rock that is shot
 * breaks into two small ones, a small one is gone. When no rock is left the episode is won; when
 * one touches the ship it is lost. After max_ticks it is cut off: that is a truncation.
 *
 * Units: arena units, seconds, radians. The agent acts once in `frameskip` frames: that is a tick.
 * All directions that the agent sees are in the ship's frame: ahead, and to its left.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define SHOTS 4                 // at most so many in flight

//-- What the agent sees and does -------------------------------------------------
enum {                          // observations, one float each
    OBS_AHEAD,                  // [-1, 1]  the ship's speed ahead, share of max_speed
    OBS_ASIDE,                  // [-1, 1]  and to its left
    OBS_RELOAD,                 // [0, 1]   time until the gun can fire again
    OBS_LEFT,                   // [0, 1]   share of the hits that are still to be made
    OBS_SHOTS,                  // list 4 x 4, mask 0: is there, place ahead, place left, time left to fly
    OBS_ROCKS = OBS_SHOTS + 4 * SHOTS   // list env->rocks x 6, mask 0: is there, place ahead, place left,
                                // speed ahead and left as the ship sees it, radius
};
#define ROCK_WIDTH 6
#define OBS_SIZE (OBS_ROCKS + ROCK_WIDTH * env->rocks)

enum {                          // first head
    STEER_COAST,                // keep course
    STEER_LEFT, STEER_RIGHT,    // turn
    STEER_THRUST,               // accelerate to where the ship points
    STEER_COUNT
};
enum {                          // second head
    GUN_HOLD,
    GUN_FIRE, GUN_COUNT         // firing is illegal while the gun reloads or SHOTS are in flight
};
#define ACT_SIZES {STEER_COUNT, GUN_COUNT}

//-- Rules that are no settings ---------------------------------------------------
#define FRAME       (1.0f / 60.0f)
#define SHIP_RADIUS 1.5f
#define LARGE       6.0f        // radii
#define SMALL       3.0f
#define DRAG        0.3f        // share of its speed that the ship loses in a second
#define ROCK_SLOW   4.0f        // a rock's speed is between these
#define ROCK_FAST   12.0f
#define SHOT_SPEED  80.0f
#define SHOT_LIFE   0.6f
#define SAFE        0.3f        // a new rock's distance to the ship, in shares of the arena:
#define FAR         0.48f       // between these
#define TURN        6.2831853f

//-- State ------------------------------------------------------------------------
typedef struct Log {            // sums over finished episodes
    float perf;                 // [0, 1] share of the hits that were made
    float score;                // hits
    float episode_return;
    float episode_length;       // ticks
    float crashed;              // 1 if a rock ended it
    float n;                    // last
} Log;

typedef struct Rock { bool there; float x, y, vx, vy, radius; } Rock;
typedef struct Shot { float x, y, vx, vy, life; } Shot;     // flies while life > 0

typedef struct Comets {
    Log log;
    float* observations;        // out [OBS_SIZE]
    float* final_observations;  // out [OBS_SIZE]  what a truncated agent saw last
    unsigned char* action_mask; // out [STEER_COUNT + GUN_COUNT]
    float* actions;             // in  [2]  a STEER_ and a GUN_
    float* rewards;             // out [1]
    float* terminals;           // out [1]
    float* truncations;         // out [1]
    int num_agents;
    unsigned int rng;

    // settings
    int frameskip, max_ticks, rocks, reload;
    float arena, turn_speed, thrust, max_speed;
    float reward_hit, reward_cleared, reward_crash;

    Rock* rock;                 // [rocks]  allocated by init
    int large;                  // rocks that an episode begins with: half of the places

    // of this episode
    float x, y, vx, vy, heading;
    Shot shot[SHOTS];
    int cooldown;               // ticks until the gun can fire
    int hits, tick;
    float episode_return;
} Comets;

static inline float random_between(unsigned int* rng, float low, float high) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return low + (high - low) * ((float)(bits >> 8) / 16777216.0f);
}

// A place, from 0 up to the arena's size
static inline float wrap(const Comets* env, float place) {
    if (place < 0.0f) place += env->arena;
    return place >= env->arena ? place - env->arena : place;
}

// The shorter way from one place to another: at most half of the arena
static inline float way(const Comets* env, float from, float to) {
    float d = to - from, half = 0.5f * env->arena;
    return d > half ? d - env->arena : d < -half ? d + env->arena : d;
}

static inline float distance(const Comets* env, float ax, float ay, float bx, float by) {
    float dx = way(env, ax, bx), dy = way(env, ay, by);
    return sqrtf(dx * dx + dy * dy);
}

static inline int hits_needed(const Comets* env) { return 3 * env->large; }

static inline Shot* free_shot(Comets* env) {
    for (int i = 0; i < SHOTS; i++) {
        if (env->shot[i].life <= 0.0f) return &env->shot[i];
    }
    return NULL;
}

// Turns a vector into the ship's frame, and writes it as shares of its greatest length
static inline void put_vector(const Comets* env, float* obs, float x, float y, float longest) {
    float c = cosf(env->heading), s = sinf(env->heading);
    obs[0] = fminf(fmaxf((c * x + s * y) / longest, -1.0f), 1.0f);  // lest rounding exceed it
    obs[1] = fminf(fmaxf((c * y - s * x) / longest, -1.0f), 1.0f);
}

// Writes every element of the observation and of the mask
static inline void observe(Comets* env) {
    float* obs = env->observations;
    const float longest = 0.70711f * env->arena;    // way() in both axes
    memset(obs, 0, (size_t)(OBS_SIZE) * sizeof(float));
    put_vector(env, obs + OBS_AHEAD, env->vx, env->vy, env->max_speed);
    obs[OBS_RELOAD] = (float)env->cooldown / (float)env->reload;
    obs[OBS_LEFT] = 1.0f - (float)env->hits / (float)hits_needed(env);
    for (int i = 0; i < SHOTS; i++) {
        const Shot* shot = &env->shot[i];
        float* row = obs + OBS_SHOTS + 4 * i;
        if (shot->life <= 0.0f) continue;
        row[0] = 1.0f;
        put_vector(env, row + 1, way(env, env->x, shot->x), way(env, env->y, shot->y), longest);
        row[3] = shot->life / SHOT_LIFE;
    }
    for (int i = 0; i < env->rocks; i++) {
        const Rock* rock = &env->rock[i];
        float* row = obs + OBS_ROCKS + ROCK_WIDTH * i;
        if (!rock->there) continue;
        row[0] = 1.0f;
        put_vector(env, row + 1, way(env, env->x, rock->x), way(env, env->y, rock->y), longest);
        put_vector(env, row + 3, rock->vx - env->vx, rock->vy - env->vy, env->max_speed + ROCK_FAST);
        row[5] = rock->radius / LARGE;
    }
    memset(env->action_mask, 1, STEER_COUNT + GUN_COUNT);
    env->action_mask[STEER_COUNT + GUN_FIRE] = env->cooldown == 0 && free_shot(env) != NULL;
}

//-- One frame --------------------------------------------------------------------
static inline void move_ship(Comets* env, int steer) {
    env->heading += env->turn_speed * FRAME * (float)((steer == STEER_LEFT) - (steer == STEER_RIGHT));
    env->heading = fmodf(env->heading + TURN, TURN);
    float push = steer == STEER_THRUST ? env->thrust * FRAME : 0.0f, keep = 1.0f - DRAG * FRAME;
    env->vx = keep * env->vx + push * cosf(env->heading);
    env->vy = keep * env->vy + push * sinf(env->heading);
    float speed = sqrtf(env->vx * env->vx + env->vy * env->vy);
    float cut = speed > env->max_speed ? env->max_speed / speed : 1.0f;
    env->vx *= cut, env->vy *= cut;
    env->x = wrap(env, env->x + env->vx * FRAME);
    env->y = wrap(env, env->y + env->vy * FRAME);
}

static inline void send_rock(Comets* env, Rock* rock, float x, float y, float radius) {
    float angle = random_between(&env->rng, 0.0f, TURN);
    float speed = random_between(&env->rng, ROCK_SLOW, ROCK_FAST);
    *rock = (Rock){true, x, y, speed * cosf(angle), speed * sinf(angle), radius};
}

static inline void hit(Comets* env, Rock* rock) {
    env->hits += 1;
    env->rewards[0] += env->reward_hit;
    if (rock->radius < LARGE) {
        rock->there = false;
        return;
    }
    send_rock(env, rock, rock->x, rock->y, SMALL);
    for (int i = 0; i < env->rocks; i++) {      // there are two places for each large rock
        if (env->rock[i].there) continue;
        send_rock(env, &env->rock[i], rock->x, rock->y, SMALL);
        return;
    }
}

static inline void move_shots(Comets* env) {
    for (int i = 0; i < SHOTS; i++) {
        Shot* shot = &env->shot[i];
        if (shot->life <= 0.0f) continue;
        shot->x = wrap(env, shot->x + shot->vx * FRAME);
        shot->y = wrap(env, shot->y + shot->vy * FRAME);
        shot->life -= FRAME;
        for (int k = 0; k < env->rocks && shot->life > 0.0f; k++) {
            Rock* rock = &env->rock[k];
            if (!rock->there || distance(env, shot->x, shot->y, rock->x, rock->y) > rock->radius) continue;
            shot->life = 0.0f;
            hit(env, rock);
        }
    }
}

// Moves the rocks. Does one of them touch the ship?
static inline bool move_rocks(Comets* env) {
    bool touch = false;
    for (int i = 0; i < env->rocks; i++) {
        Rock* rock = &env->rock[i];
        if (!rock->there) continue;
        rock->x = wrap(env, rock->x + rock->vx * FRAME);
        rock->y = wrap(env, rock->y + rock->vy * FRAME);
        touch = touch || distance(env, env->x, env->y, rock->x, rock->y) < rock->radius + SHIP_RADIUS;
    }
    return touch;
}

//-- The four functions -----------------------------------------------------------
void init(Comets* env) {
    env->rock = (Rock*)calloc((size_t)env->rocks, sizeof(Rock));
    env->large = env->rocks / 2;
}

void c_close(Comets* env) { free(env->rock); }

void c_reset(Comets* env) {
    env->x = env->y = 0.5f * env->arena;
    env->vx = env->vy = 0.0f;
    env->heading = random_between(&env->rng, 0.0f, TURN);
    for (int i = 0; i < env->rocks; i++) {
        env->rock[i].there = false;
        if (i >= env->large) continue;
        float angle = random_between(&env->rng, 0.0f, TURN);
        float away = random_between(&env->rng, SAFE, FAR) * env->arena;
        send_rock(env, &env->rock[i], env->x + away * cosf(angle), env->y + away * sinf(angle), LARGE);
    }
    memset(env->shot, 0, sizeof(env->shot));
    env->cooldown = 0;
    env->hits = env->tick = 0;
    env->episode_return = 0.0f;
    observe(env);
}

void c_step(Comets* env) {
    const int steer = (int)env->actions[0], gun = (int)env->actions[1];
    bool crashed = false, cleared = false;
    env->rewards[0] = 0.0f;     // hits add to it, in any frame
    Shot* shot = free_shot(env);
    if (gun == GUN_FIRE && env->cooldown == 0 && shot != NULL) {
        float c = cosf(env->heading), s = sinf(env->heading);
        *shot = (Shot){env->x, env->y, SHOT_SPEED * c, SHOT_SPEED * s, SHOT_LIFE};
        env->cooldown = env->reload;
    }
    for (int frame = 0; frame < env->frameskip && !crashed && !cleared; frame++) {
        move_ship(env, steer);
        move_shots(env);
        crashed = move_rocks(env);
        cleared = env->hits == hits_needed(env);
    }
    if (env->cooldown > 0) env->cooldown -= 1;
    env->tick += 1;
    env->rewards[0] += crashed ? env->reward_crash : cleared ? env->reward_cleared : 0.0f;
    env->episode_return += env->rewards[0];

    bool over = crashed || cleared, late = !over && env->tick >= env->max_ticks;
    env->terminals[0] = over || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (!over) observe(env);
    if (late) memcpy(env->final_observations, env->observations, (size_t)(OBS_SIZE) * sizeof(float));
    if (!over && !late) return;

    env->log.perf += (float)env->hits / (float)hits_needed(env);
    env->log.score += (float)env->hits;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.crashed += crashed ? 1.0f : 0.0f;
    env->log.n += 1.0f;
    c_reset(env);
}

void c_render(Comets* env) {
    const float zoom = 6.0f;
    const int side = (int)(zoom * env->arena);
    if (!IsWindowReady()) InitWindow(side, side, "comets");
    SetTargetFPS(15);
    BeginDrawing();
    ClearBackground(BLACK);
    for (int i = 0; i < env->rocks; i++) {
        const Rock* rock = &env->rock[i];
        if (rock->there) DrawCircle((int)(zoom * rock->x), (int)(zoom * rock->y), zoom * rock->radius, GRAY);
    }
    for (int i = 0; i < SHOTS; i++) {
        const Shot* shot = &env->shot[i];
        if (shot->life > 0.0f) DrawCircle((int)(zoom * shot->x), (int)(zoom * shot->y), 3.0f, YELLOW);
    }
    DrawCircle((int)(zoom * env->x), (int)(zoom * env->y), zoom * SHIP_RADIUS, SKYBLUE);
    DrawText(TextFormat("%d of %d hits", env->hits, hits_needed(env)), 8, 6, 20, RAYWHITE);
    EndDrawing();
}
