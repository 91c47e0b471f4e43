/* pinball.h -- keep a ball in play with two flippers.  One agent, two heads of two actions.
 *
 * An episode is so many balls. One that falls between the flippers is lost; the next is shot
 * from the right after a short wait. All lanes at the top lit begin a bonus: for some seconds a
 * jackpot stands on one of three spots, and moves to another when it is hit. When the bonus is
 * over, or its ball lost, the lanes are dark again.
 *
 * Units: y downward; time in seconds. A tick brings `frameskip` frames of 1/120 s. It stops early
 * where a ball is lost; the frames that it did not use are played in the next tick, so that so
 * many ticks are always so many frames. A new episode begins without any.
 */
#pragma once

#include <math.h>               // sinf, cosf, sqrtf, fminf, fmaxf
#include <stdbool.h>
#include <stdlib.h>             // calloc, free
#include <string.h>             // memset, memchr
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif

enum {                          // observations, one float each
    OBS_X,                      // [ 0, 1]  the ball's middle, share of the width
    OBS_Y,                      // [ 0, 1]  share of the height
    OBS_VX,                     // [-1, 1]  share of the greatest speed
    OBS_VY,                     // [-1, 1]
    OBS_LEFT,                   // [ 0, 1]  how far the left flipper is up
    OBS_RIGHT,                  // [ 0, 1]  and the right one
    OBS_WAIT,                   // [ 0, 1]  what is left of the wait before a shot; 0 in play
    OBS_CARRIED,                // [ 0, 1]  frames left over from the last tick, of a tick's
    OBS_BALLS,                  // [ 0, 1]  balls left, the one in play among them
    OBS_BONUS,                  // [ 0, 1]  time left of the bonus; 0: there is none
    OBS_JACKPOT,                // [ 0, 1]  1 where there is a jackpot, else 0 and 0 0
    OBS_JACKPOT_X,              // [ 0, 1]
    OBS_JACKPOT_Y,              // [ 0, 1]
    OBS_LANES                   // [ 0, 1]  from the left: 1 where a lane is lit
};
#define OBS_SIZE (OBS_LANES + env->lanes)       // 18 with 5 lanes

#define ACT_SIZES {2, 2}        // a head for each flipper: 0 lets it fall, 1 holds it up
enum { HEAD_LEFT, HEAD_RIGHT };

//-- Rules: those that are no settings. X, Y and LENGTH are shares of the table ----
#define FRAME        (1.0f / 120.0f)
#define SERVE_WAIT   24         // frames before a ball is shot
#define SERVE_SPEED  175.0f     // upward, at least,
#define SERVE_SPREAD 50.0f      // and up to so much more
#define SERVE_ASIDE  40.0f      // to the left, at most
#define BOUNCE       0.7f       // speed that is left after a wall
#define BOUNCE_SOFT  0.4f       // after a flipper or a rail
#define LANES_Y      0.12f      // above it are the lanes
#define REST_ANGLE   0.45f      // of a flipper: its tip hangs down
#define UP_ANGLE    -0.55f
#define PIVOT_X      0.22f      // of the left flipper; the right one mirrors it
#define PIVOT_Y      0.875f
#define RAIL_Y       0.75f      // at the walls, the rails that lead to the flippers
#define LENGTH       0.22f      // of a flipper
#define HALF_THICK   2.0f       // half the thickness of flippers and rails
#define BUMPER       6.0f       // radius
#define JACKPOT      5.0f       // radius
#define BUMPERS      3
#define SPOTS        3
static const float BUMPER_AT[BUMPERS][2] = {{0.3f, 0.3f}, {0.7f, 0.3f}, {0.5f, 0.42f}};
static const float SPOT_AT[SPOTS][2] = {{0.15f, 0.5f}, {0.5f, 0.22f}, {0.85f, 0.5f}};

typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  score / par, at most 1
    float score;                // points
    float episode_return;       // what the trainer maximises
    float episode_length;       // ticks
    float jackpots;             // hit in an episode
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct Pinball {
    Log log;                    // the arrays are the trainer's: fill them, never free them
    float* observations;        // out [OBS_SIZE]
    float* final_observations;  // out [OBS_SIZE]  written on a truncation only
    float* actions;             // in  [2]
    float* rewards;             // out [1]
    float* terminals;           // out [1]
    float* truncations;         // out [1]  1 where max_ticks ended the episode
    int num_agents;
    unsigned int rng;

    // Settings
    float width, height;
    float radius, gravity, max_speed;   // of the ball
    float bumper_kick;          // speed away from a bumper, at least
    float flipper_speed;        // swings a second
    float bonus_seconds;
    int frameskip, balls, lanes, max_ticks;
    int points_bumper, points_lane, points_jackpot;
    float reward_scale, reward_drain;   // of a point, of a lost ball
    float par;                  // points at which perf is 1

    // From init to c_close
    bool* lit;                  // (lanes)  cleared by c_reset
    int bonus_frames;           // how long a bonus lasts

    // c_reset sets all of this
    float x, y, vx, vy;         // the ball
    float left, right;          // [0, 1]  the flippers: 0 at rest, 1 up
    int wait;                   // frames until the ball is shot; 0: in play
    int frames;                 // to be played; between ticks: carried over
    int balls_left;
    int bonus;                  // frames left of it
    int spot;                   // of the jackpot, while the bonus lasts
    int score, jackpots, tick;
    float episode_return;
} Pinball;

// Uniform in [0, 1)
static inline float random_share(unsigned int* rng) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (float)(bits >> 8) / 16777216.0f;
}

static inline float clamp(float value, float low, float high) {
    return fminf(fmaxf(value, low), high);
}

static void observe(Pinball* env, float* obs) {
    const bool bonus = env->bonus > 0;
    obs[OBS_X] = clamp(env->x / env->width, 0.0f, 1.0f);
    obs[OBS_Y] = clamp(env->y / env->height, 0.0f, 1.0f);
    obs[OBS_VX] = clamp(env->vx / env->max_speed, -1.0f, 1.0f);
    obs[OBS_VY] = clamp(env->vy / env->max_speed, -1.0f, 1.0f);
    obs[OBS_LEFT] = env->left;
    obs[OBS_RIGHT] = env->right;
    obs[OBS_WAIT] = (float)env->wait / (float)SERVE_WAIT;
    obs[OBS_CARRIED] = fminf((float)env->frames / (float)env->frameskip, 1.0f);
    obs[OBS_BALLS] = (float)env->balls_left / (float)env->balls;
    obs[OBS_BONUS] = (float)env->bonus / (float)env->bonus_frames;
    obs[OBS_JACKPOT] = bonus ? 1.0f : 0.0f;
    obs[OBS_JACKPOT_X] = bonus ? SPOT_AT[env->spot][0] : 0.0f;
    obs[OBS_JACKPOT_Y] = bonus ? SPOT_AT[env->spot][1] : 0.0f;
    for (int lane = 0; lane < env->lanes; lane++) {
        obs[OBS_LANES + lane] = env->lit[lane] ? 1.0f : 0.0f;
    }
}

//-- Points and the bonus -----------------------------------------------------------
static inline void earn(Pinball* env, int points) {
    env->score += points;
    env->rewards[0] += (float)points * env->reward_scale;
}

static inline void light_lane(Pinball* env) {
    int lane = (int)clamp(env->x / env->width * (float)env->lanes, 0.0f, (float)env->lanes - 1.0f);
    if (env->bonus > 0 || env->lit[lane]) {
        return;
    }
    env->lit[lane] = true;
    earn(env, env->points_lane);
    if (!memchr(env->lit, false, (size_t)env->lanes)) {
        env->bonus = env->bonus_frames;
        env->spot = (int)(SPOTS * random_share(&env->rng));
    }
}

// A hit moves the jackpot to one of the other spots
static inline void run_bonus(Pinball* env) {
    float dx = env->x - SPOT_AT[env->spot][0] * env->width;
    float dy = env->y - SPOT_AT[env->spot][1] * env->height, reach = JACKPOT + env->radius;
    if (dx * dx + dy * dy <= reach * reach) {
        earn(env, env->points_jackpot);
        env->jackpots += 1;
        env->spot = (env->spot + 1 + (int)((SPOTS - 1) * random_share(&env->rng))) % SPOTS;
    }
    env->bonus -= 1;
    if (env->bonus == 0) memset(env->lit, 0, (size_t)env->lanes);
}

//-- The ball's flight ----------------------------------------------------------------
// Off a surface with the normal n that moves at (sx, sy). Returns whether the ball came towards it
static inline bool turn_off(Pinball* env, float nx, float ny, float sx, float sy, float bounce) {
    float speed = (env->vx - sx) * nx + (env->vy - sy) * ny;
    if (speed < 0.0f) {
        env->vx -= (1.0f + bounce) * speed * nx;
        env->vy -= (1.0f + bounce) * speed * ny;
    }
    return speed < 0.0f;
}

// Away from a point that is closer than `reach`. Returns whether it was, and the direction
static inline bool push_out(Pinball* env, float x, float y, float reach, float* nx, float* ny) {
    float dx = env->x - x, dy = env->y - y, distance = sqrtf(dx * dx + dy * dy);
    if (distance >= reach) {
        return false;
    }
    bool middle = distance < 1e-6f;     // then there is no direction: up
    *nx = middle ? 0.0f : dx / distance;
    *ny = middle ? -1.0f : dy / distance;
    env->x = x + *nx * reach;
    env->y = y + *ny * reach;
    return true;
}

static inline void meet_bumper(Pinball* env, float x, float y) {
    float nx, ny;
    if (push_out(env, x, y, BUMPER + env->radius, &nx, &ny)
            && turn_off(env, nx, ny, 0.0f, 0.0f, BOUNCE)) {
        float more = fmaxf(env->bumper_kick - (env->vx * nx + env->vy * ny), 0.0f);
        env->vx += more * nx;
        env->vy += more * ny;
        earn(env, env->points_bumper);
    }
}

// A bar from (ax, ay) to (bx, by) that turns about its first end at `spin` radians a second
static inline void meet_bar(Pinball* env, float ax, float ay, float bx, float by, float spin) {
    float ux = bx - ax, uy = by - ay, nx, ny;
    float along = ((env->x - ax) * ux + (env->y - ay) * uy) / (ux * ux + uy * uy);
    float rx = clamp(along, 0.0f, 1.0f) * ux, ry = clamp(along, 0.0f, 1.0f) * uy;
    if (push_out(env, ax + rx, ay + ry, HALF_THICK + env->radius, &nx, &ny)) {
        turn_off(env, nx, ny, -spin * ry, spin * rx, BOUNCE_SOFT);
    }
}

// A rail and its flipper, which moves towards up or rest. `sign` is 1 at the left wall, -1 right
static inline void meet_side(Pinball* env, float wall, float sign, float* up, bool held) {
    const float sweep = UP_ANGLE - REST_ANGLE, length = sign * LENGTH * env->width;
    const float x = wall + sign * PIVOT_X * env->width, y = PIVOT_Y * env->height;
    float before = *up, step = env->flipper_speed * FRAME;
    *up = clamp(before + (held ? step : -step), 0.0f, 1.0f);
    float angle = REST_ANGLE + *up * sweep, spin = sign * sweep * (*up - before) / FRAME;
    meet_bar(env, x, y, wall, RAIL_Y * env->height, 0.0f);
    meet_bar(env, x, y, x + length * cosf(angle), y + fabsf(length) * sinf(angle), spin);
}

static inline void fly(Pinball* env) {
    env->vy += env->gravity * FRAME;
    float speed = sqrtf(env->vx * env->vx + env->vy * env->vy);
    if (speed > env->max_speed) {       // less than its radius a frame: it passes through nothing
        env->vx *= env->max_speed / speed;
        env->vy *= env->max_speed / speed;
    }
    env->x += env->vx * FRAME;
    env->y += env->vy * FRAME;
    for (int i = 0; i < BUMPERS; i++) {
        meet_bumper(env, BUMPER_AT[i][0] * env->width, BUMPER_AT[i][1] * env->height);
    }
}

static inline void meet_walls(Pinball* env) {
    float x = clamp(env->x, env->radius, env->width - env->radius), y = fmaxf(env->y, env->radius);
    if (x != env->x) turn_off(env, x > env->x ? 1.0f : -1.0f, 0.0f, 0.0f, 0.0f, BOUNCE);
    if (y != env->y) turn_off(env, 0.0f, 1.0f, 0.0f, 0.0f, BOUNCE);
    env->x = x;
    env->y = y;
}

// One frame. Returns whether the ball is lost. A waiting ball is far from flippers and rails
static bool advance(Pinball* env, bool hold_left, bool hold_right) {
    bool waits = env->wait > 0;
    if (waits && --env->wait == 0) {
        env->vx = -SERVE_ASIDE * random_share(&env->rng);
        env->vy = -(SERVE_SPEED + SERVE_SPREAD * random_share(&env->rng));
    } else if (!waits) {
        fly(env);
    }
    meet_side(env, 0.0f, 1.0f, &env->left, hold_left);
    meet_side(env, env->width, -1.0f, &env->right, hold_right);
    meet_walls(env);
    if (env->y < LANES_Y * env->height) light_lane(env);
    if (env->bonus > 0) run_bonus(env);
    return env->y > env->height;
}

//-- Functions: init, c_close, then the two that matter ---------------------------
void init(Pinball* env) {
    if (env->frameskip < 1) env->frameskip = 1;
    if (env->balls < 1) env->balls = 1;
    env->lit = (bool*)calloc((size_t)env->lanes, sizeof(bool));
    env->bonus_frames = (int)fmaxf(env->bonus_seconds / FRAME, 1.0f);
}

void c_close(Pinball* env) {
    free(env->lit);
}

// A ball on the right, ready to be shot. A bonus ends with the ball before
static void next_ball(Pinball* env) {
    if (env->bonus > 0) memset(env->lit, 0, (size_t)env->lanes);
    env->bonus = 0;
    env->x = env->width - env->radius;
    env->y = 0.6f * env->height;
    env->vx = env->vy = 0.0f;
    env->wait = SERVE_WAIT;
}

// Begin an episode. Leaves rewards and terminals alone: they describe the step that ended
void c_reset(Pinball* env) {
    env->left = env->right = 0.0f;
    env->frames = 0;
    env->balls_left = env->balls;
    env->bonus = env->spot = 0;
    env->score = env->jackpots = env->tick = 0;
    env->episode_return = 0.0f;
    memset(env->lit, 0, (size_t)env->lanes);
    next_ball(env);
    observe(env, env->observations);
}

// Advance one tick: its frames and those carried over, until all are played or a ball is lost
void c_step(Pinball* env) {
    bool hold_left = env->actions[HEAD_LEFT] > 0.5f, hold_right = env->actions[HEAD_RIGHT] > 0.5f;
    bool lost = false;
    env->rewards[0] = 0.0f;
    env->tick += 1;
    env->frames += env->frameskip;
    while (env->frames > 0 && !lost) {
        env->frames -= 1;
        lost = advance(env, hold_left, hold_right);
    }
    if (lost) {
        env->balls_left -= 1;
        env->rewards[0] += env->reward_drain;
        next_ball(env);
    }
    env->episode_return += env->rewards[0];

    // The agent cannot see max_ticks: running out of them is a truncation
    bool over = env->balls_left == 0, late = !over && env->tick >= env->max_ticks;
    env->terminals[0] = over || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (late) observe(env, env->final_observations);
    if (!over && !late) {
        observe(env, env->observations);
        return;
    }
    env->log.perf += clamp((float)env->score / env->par, 0.0f, 1.0f);
    env->log.score += (float)env->score;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.jackpots += (float)env->jackpots;
    env->log.n += 1.0f;
    c_reset(env);               // the next observation opens the next episode
}

#ifndef PUFFER_DEVICE
void c_render(Pinball* env) {
    const float zoom = 4.0f, w = zoom * env->width, h = zoom * env->height;
    if (!IsWindowReady()) {
        InitWindow((int)w, (int)h, "pinball");
        SetTargetFPS(15);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    for (int lane = 0; lane < env->lanes; lane++) {
        DrawCircle((int)(w * ((float)lane + 0.5f) / (float)env->lanes), 20, 10.0f,
                   env->lit[lane] ? GOLD : DARKGRAY);
    }
    for (int i = 0; i < BUMPERS; i++) {
        DrawCircle((int)(w * BUMPER_AT[i][0]), (int)(h * BUMPER_AT[i][1]), zoom * BUMPER, RED);
    }
    if (env->bonus > 0) {
        DrawCircle((int)(w * SPOT_AT[env->spot][0]), (int)(h * SPOT_AT[env->spot][1]), 20.0f, GOLD);
    }
    for (int side = 0; side < 2; side++) {
        float sign = side ? -1.0f : 1.0f, up = side ? env->right : env->left;
        float angle = REST_ANGLE + up * (UP_ANGLE - REST_ANGLE);
        Vector2 pivot = {(side ? w : 0.0f) + sign * PIVOT_X * w, h * PIVOT_Y};
        Vector2 tip = {pivot.x + sign * LENGTH * w * cosf(angle), pivot.y + LENGTH * w * sinf(angle)};
        DrawLineEx(pivot, tip, zoom * 2.0f * HALF_THICK, SKYBLUE);
    }
    DrawCircle((int)(zoom * env->x), (int)(zoom * env->y), zoom * env->radius, RAYWHITE);
    DrawText(TextFormat("%d points, %d balls", env->score, env->balls_left), 12, 90, 20, RAYWHITE);
    EndDrawing();
}
#endif
