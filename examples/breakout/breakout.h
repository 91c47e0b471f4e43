/* breakout.h -- knock down a wall of bricks with a ball.  One agent, three actions.
 *
 *      +------------------------------------+
 *      |                                    |     7   a brick of the upper two rows: points
 *      |7777777777777777777777777777777777  |     4   of the middle two
 *      |44444444444444444   444444444444444 |     1   of the lower two
 *      |1111111   111111   11111111111111111|
 *      |                 (o)                |    (o)  the ball: falls past the paddle and is lost
 *      |                                    |
 *      |              =====                 |    ===  the paddle: left, right, or stay
 *      +------------------------------------+
 *
 * Five balls, and two walls: when the ball comes back from the first, cleared one, a second
 * stands there. Both together are worth 864, the best score there is, and 800 counts as
 * solved. Sizes, speeds and points are those of PufferLib's Breakout, so that scores compare.
 *
 * It gets harder on the way. The ball is faster after every fourth return, and fastest once
 * it has broken a brick of the upper three rows; the paddle halves when the ball reaches the
 * ceiling. Both are as they were with the next ball.
 *
 * Read top to bottom: what the agent sees and does, the rules, the state, the ball's flight,
 * then c_reset and c_step. Whatever you change, `puffer-sdk check` tells you what it broke.
 *
 * Units: length in pixels, y downward; time in frames, 60 a second; speed in pixels a second.
 * The agent acts once in `frameskip` frames, and that is a tick.
 */
#pragma once

#include <math.h>               // sinf, cosf, fminf, fmaxf
#include <stdbool.h>
#include <stdint.h>             // uint64_t
#include <stdlib.h>             // calloc, free
#include <string.h>             // memcpy
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what the agent sees and does --------------------------------------
enum {                          // observations, one float each
    OBS_PADDLE_X,               // [ 0, 1]  its left end, share of the width
    OBS_PADDLE_Y,               // puffer: constant [ 0, 1]  its top
    OBS_BALL_X,                 // [ 0, 1]  its left side
    OBS_BALL_Y,                 // [ 0, 1]  its top
    OBS_BALL_VX,                // [-1, 1]  share of the greatest speed
    OBS_BALL_VY,                // [-1, 1]
    OBS_FIRED,                  // [ 0, 1]  0 before the first frame of a ball, then 1
    OBS_SCORE,                  // [ 0, 1]  share of the best score
    OBS_BALLS,                  // [ 0, 1]  balls left, the one in play among them
    OBS_PADDLE_WIDTH,           // [ 0, 1]  1, or half of it
    OBS_BRICKS                  // [ 0, 1]  row by row from above: 1 where a brick stands
};
#define OBS_SIZE (OBS_BRICKS + env->brick_rows * env->brick_cols)   // 118 with 6 x 18 bricks

enum {                          // actions, pick one
    ACT_STAY,
    ACT_LEFT,
    ACT_RIGHT,
    ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT}

//-- Rules: those that are no settings --------------------------------------------
// Measured: acting at random scores 1.6 of 864, staying put 2.0, and a pilot that steers for
// where the ball will come down 864, in 4500 ticks
// (measured again by tests/test_examples_arcade.py, which fails if they are wrong)
#define BALLS        5
#define WALLS        2          // walls of bricks, one after the other
#define FRAME        (1.0f / 60.0f)
#define MARGIN       10.0f      // between the paddle and the bottom of the screen
#define BRICKS_TOP   50.0f      // free space above the bricks, where a ball can run wild
#define SERVE_DROP   30.0f      // a new ball waits this far above mid-screen
#define SERVE_ANGLE  0.96f      // it falls straight down, or up to 55 degrees aside
#define STEEP_ANGLE  1.05f      // the paddle's ends send it 60 degrees aside, its middle none
#define SPEEDUP      64.0f      // more speed,
#define SPEEDUP_HITS 4          // after so many returns
#define FAST_ROWS    3          // a brick of these upper rows: greatest speed at once
#define BRICK_REWARD 1.0f       // of every brick, whatever its points: so agents learn faster
#define MAX_TICKS    20000      // four times what the pilot needs: stops a ball that goes
                                // round in circles for ever

static inline int points_of_row(int row) {
    return row < 2 ? 7 : row < 4 ? 4 : 1;
}

//-- State: one copy of the game --------------------------------------------------
typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  share of the best score: the headline number
    float score;                // [0, 864] points
    float episode_return;       // [0, 216] bricks broken: what the trainer maximises
    float episode_length;       // ticks
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct Breakout {
    // Shared with the trainer, which owns the arrays: fill them, never free them
    Log log;
    float* observations;        // out [OBS_SIZE]
    float* actions;             // in  [1]  an ACT_ value, stored as a float
    float* rewards;             // out [1]
    float* terminals;           // out [1]  1 on the step that ended an episode, else 0
    float* truncations;         // out [1]  1 where MAX_TICKS did, not the game; else 0
    int num_agents;             // rows of those arrays that are ours; set before init
    unsigned int rng;           // this copy's seed, then its generator state

    // Settings, from [env] in breakout.ini: matched by name, set before init
    int frameskip;
    float width, height;
    float paddle_width, paddle_height, paddle_speed;
    float ball_width, ball_height;
    float initial_ball_speed, max_ball_speed;
    float brick_width, brick_height;
    int brick_rows, brick_cols;

    // What follows from the settings, from init to c_close
    float* bricks;              // (brick_rows * brick_cols)  1 where one stands, else 0
    int max_score;
    float paddle_y;
    float bricks_bottom;        // below it there are none

    // Private to this file. c_reset sets all of it, and the bricks: what it forgot
    // would carry one episode into the next
    float paddle_x, paddle;     // left end, and width by now
    float ball_x, ball_y;       // upper left corner: the ball is a box
    float ball_vx, ball_vy;
    float speed;                // of the next return
    int hits;                   // returns of this ball
    bool fired;
    int balls;                  // left, the one in play among them
    int standing;               // bricks left of this wall
    int score;
    int tick;                   // steps of this episode
    float episode_return;
} Breakout;

// Uniform in [low, high). The state lives in the env, not in rand(), so that an episode
// depends only on its seed and copies can step on any thread. Seed 0 is as good as any:
// the counter walks through all 2^32 states, the mixing makes neighbours look unrelated
static inline float random_between(unsigned int* rng, float low, float high) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return low + (high - low) * ((float)(bits >> 8) / 16777216.0f);     // 2^24
}

static inline int num_bricks(const Breakout* env) {
    return env->brick_rows * env->brick_cols;
}

// Writes every element: nobody clears observations between steps
static inline void observe(Breakout* env) {
    float* obs = env->observations;
    obs[OBS_PADDLE_X] = env->paddle_x / env->width;
    obs[OBS_PADDLE_Y] = env->paddle_y / env->height;
    obs[OBS_BALL_X] = env->ball_x / env->width;
    obs[OBS_BALL_Y] = env->ball_y / env->height;
    obs[OBS_BALL_VX] = env->ball_vx / env->max_ball_speed;
    obs[OBS_BALL_VY] = env->ball_vy / env->max_ball_speed;
    obs[OBS_FIRED] = env->fired ? 1.0f : 0.0f;
    obs[OBS_SCORE] = (float)env->score / (float)env->max_score;
    obs[OBS_BALLS] = (float)env->balls / BALLS;
    obs[OBS_PADDLE_WIDTH] = env->paddle / env->paddle_width;
    memcpy(obs + OBS_BRICKS, env->bricks, (size_t)num_bricks(env) * sizeof(float));
}

//-- The ball's flight: up to one contact a frame ---------------------------------
enum { NOTHING = -1, SIDE = -2, CEILING = -3, PADDLE = -4 };    // else the index of a brick

typedef struct Contact {
    float time;                 // [0, 1]  share of the frame until then
    float overlap;              // pixels of the ball's side that meet it
    float at;                   // where it stops the ball: its x if upright, else its y
    bool upright;               // it turns vx round, else vy
    int what;
} Contact;

// The first contact counts; of two at once, that of more overlap. Where there is none the
// ball passes by: so it can go up a gap in a row that is as wide as itself
static inline void meet(Contact* first, Contact next) {
    bool ahead = next.time >= 0.0f && next.overlap > 0.0f;
    if (ahead && (next.time < first->time
                  || (next.time == first->time && next.overlap > first->overlap))) {
        *first = next;
    }
}

// A face from low to high, which stops the ball at `at`. Call it for faces that the ball
// flies towards only: then dx, or dy below, is not 0
static inline void meet_upright(const Breakout* env, Contact* first, float dx, float dy,
                                float at, float low, float high, int what) {
    float time = (at - env->ball_x) / dx, y = env->ball_y + time * dy;
    Contact next = {time, fminf(high, y + env->ball_height) - fmaxf(low, y), at, true, what};
    meet(first, next);
}

static inline void meet_level(const Breakout* env, Contact* first, float dx, float dy,
                              float at, float low, float high, int what) {
    float time = (at - env->ball_y) / dy, x = env->ball_x + time * dx;
    Contact next = {time, fminf(high, x + env->ball_width) - fmaxf(low, x), at, false, what};
    meet(first, next);
}

// Of `count` cells in a row, the one that holds `place`, or the nearest
static inline int cell(float place, float size, int count) {
    int index = (int)(place / size);
    return index < 0 ? 0 : index < count ? index : count - 1;
}

// All bricks in the box that the ball sweeps, each by the two faces that it may come upon
static inline void meet_bricks(const Breakout* env, Contact* first, float dx, float dy) {
    const float x = env->ball_x, y = env->ball_y;
    int row_from = cell(fminf(y, y + dy) - BRICKS_TOP, env->brick_height, env->brick_rows);
    int row_to = cell(fmaxf(y, y + dy) + env->ball_height - BRICKS_TOP, env->brick_height,
                      env->brick_rows);
    int col_from = cell(fminf(x, x + dx), env->brick_width, env->brick_cols);
    int col_to = cell(fmaxf(x, x + dx) + env->ball_width, env->brick_width, env->brick_cols);
    for (int row = row_from; row <= row_to; row++) {
        for (int col = col_from; col <= col_to; col++) {
            int brick = row * env->brick_cols + col;
            if (env->bricks[brick] == 0.0f) {
                continue;
            }
            float left = (float)col * env->brick_width, right = left + env->brick_width;
            float top = BRICKS_TOP + (float)row * env->brick_height;
            float bottom = top + env->brick_height;
            if (dx != 0.0f) {
                float at = dx > 0.0f ? left - env->ball_width : right;
                meet_upright(env, first, dx, dy, at, top, bottom, brick);
            }
            float at = dy > 0.0f ? top - env->ball_height : bottom;
            meet_level(env, first, dx, dy, at, left, right, brick);
        }
    }
}

// What the ball strikes within this frame, if anything
static inline Contact first_contact(const Breakout* env, float dx, float dy) {
    const float x = env->ball_x, y = env->ball_y, ball_bottom = y + env->ball_height;
    Contact first = {1.0f, 0.0f, 0.0f, false, NOTHING};
    if (fminf(y, y + dy) < env->bricks_bottom
            && fmaxf(y, y + dy) + env->ball_height > BRICKS_TOP) {
        meet_bricks(env, &first, dx, dy);
    }
    if (x + dx < 0.0f) {
        meet_upright(env, &first, dx, dy, 0.0f, 0.0f, env->height, SIDE);
    } else if (x + env->ball_width + dx > env->width) {
        meet_upright(env, &first, dx, dy, env->width - env->ball_width, 0.0f, env->height, SIDE);
    }
    if (y + dy < 0.0f) {
        meet_level(env, &first, dx, dy, 0.0f, 0.0f, env->width, CEILING);
    } else if (ball_bottom + dy > env->paddle_y && ball_bottom <= env->paddle_y) {
        meet_level(env, &first, dx, dy, env->paddle_y - env->ball_height, env->paddle_x,
                   env->paddle_x + env->paddle, PADDLE);
    }
    return first;
}

//-- What a contact does ------------------------------------------------------------
static inline void build_wall(Breakout* env) {
    env->standing = num_bricks(env);
    for (int brick = 0; brick < env->standing; brick++) {
        env->bricks[brick] = 1.0f;
    }
}

static inline void break_brick(Breakout* env, int brick) {
    int row = brick / env->brick_cols;
    env->bricks[brick] = 0.0f;
    env->standing -= 1;
    env->score += points_of_row(row);
    env->rewards[0] += BRICK_REWARD;
    if (row < FAST_ROWS) {
        env->speed = env->max_ball_speed;
    }
}

// Sends the ball up again. Where it strikes the paddle decides the angle: so the agent aims
static inline void return_ball(Breakout* env) {
    float ball_middle = env->ball_x + 0.5f * env->ball_width;
    float paddle_middle = env->paddle_x + 0.5f * env->paddle;
    float reach = 0.5f * (env->paddle + env->ball_width);
    float angle = STEEP_ANGLE * (ball_middle - paddle_middle) / reach;
    env->hits += 1;
    if (env->hits % SPEEDUP_HITS == 0) {
        env->speed = fminf(env->speed + SPEEDUP, env->max_ball_speed);
    }
    env->ball_vx = env->speed * sinf(angle);
    env->ball_vy = -env->speed * cosf(angle);
    if (env->standing == 0) {
        build_wall(env);        // here, because no brick can stand where the ball is now
    }
}

// One frame, or what there is of it until the ball strikes something
static inline void fly(Breakout* env) {
    const float dx = env->ball_vx * FRAME, dy = env->ball_vy * FRAME;
    Contact hit = first_contact(env, dx, dy);
    env->ball_x += dx * hit.time;
    env->ball_y += dy * hit.time;
    if (hit.what == NOTHING) {
        return;
    }
    if (hit.upright) {          // exactly at the face, lest rounding leave the ball within
        env->ball_x = hit.at;
        env->ball_vx = -env->ball_vx;
    } else {
        env->ball_y = hit.at;
        env->ball_vy = -env->ball_vy;
    }
    if (hit.what == PADDLE) {
        return_ball(env);
    } else if (hit.what == CEILING && env->paddle == env->paddle_width) {
        env->paddle *= 0.5f;
        env->paddle_x += 0.5f * env->paddle;
    } else if (hit.what >= 0) {
        break_brick(env, hit.what);
    }
}

//-- Functions: init, c_close, then the two that matter ---------------------------
// Runs once, when the settings are known. The shared arrays are not bound yet
void init(Breakout* env) {
    env->bricks = (float*)calloc((size_t)num_bricks(env), sizeof(float));
    env->paddle_y = env->height - env->paddle_height - MARGIN;
    env->bricks_bottom = BRICKS_TOP + (float)env->brick_rows * env->brick_height;
    env->max_score = 0;
    for (int row = 0; row < env->brick_rows; row++) {
        env->max_score += WALLS * env->brick_cols * points_of_row(row);
    }
}

// Runs last. Free what init allocated, and nothing else
void c_close(Breakout* env) {
    free(env->bricks);
}

// Everything in the middle, and all that made the last ball hard forgotten
static inline void next_ball(Breakout* env) {
    env->paddle = env->paddle_width;
    env->paddle_x = 0.5f * (env->width - env->paddle);
    env->ball_x = 0.5f * (env->width - env->ball_width);
    env->ball_y = 0.5f * env->height - SERVE_DROP;
    env->ball_vx = env->ball_vy = 0.0f;
    env->speed = env->initial_ball_speed;
    env->hits = 0;
    env->fired = false;
}

// Begin an episode. Leaves rewards and terminals alone: when c_step calls this, they
// still describe the step that just ended
void c_reset(Breakout* env) {
    env->balls = BALLS;
    env->score = 0;
    env->tick = 0;
    env->episode_return = 0.0f;
    build_wall(env);
    next_ball(env);
    observe(env);
}

static inline void advance(Breakout* env, float paddle_step) {
    if (!env->fired) {
        float angle = random_between(&env->rng, -SERVE_ANGLE, SERVE_ANGLE);
        env->ball_vx = env->speed * sinf(angle);
        env->ball_vy = env->speed * cosf(angle);
        env->fired = true;
    }
    float rightmost = env->width - env->paddle;
    env->paddle_x = fminf(fmaxf(env->paddle_x + paddle_step, 0.0f), rightmost);
    fly(env);
}

// Advance one tick: frames, until all are over, or a ball is, or the game
void c_step(Breakout* env) {
    int action = (int)env->actions[0];
    float direction = (float)((action == ACT_RIGHT) - (action == ACT_LEFT));
    float paddle_step = direction * env->paddle_speed * FRAME;
    env->rewards[0] = 0.0f;     // bricks add to it
    bool lost = false, cleared = false;
    for (int frame = 0; frame < env->frameskip && !lost && !cleared; frame++) {
        advance(env, paddle_step);
        lost = env->ball_y >= env->paddle_y + env->paddle_height;
        cleared = env->score >= env->max_score;
    }
    env->balls -= lost ? 1 : 0;
    env->tick += 1;
    env->episode_return += env->rewards[0];

    // Going round in circles is a truncation: the agent cannot see the clock, and the trainer
    // adds what might have followed. What the game itself ends is none
    bool over = cleared || env->balls == 0, late = !over && env->tick >= MAX_TICKS;
    env->terminals[0] = over || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (!over && !late) {
        if (lost) {
            next_ball(env);
        }
        observe(env);
        return;
    }

    env->log.perf += (float)env->score / (float)env->max_score;
    env->log.score += (float)env->score;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);               // the next observation opens the next episode
}

//-- Drawing: reads the state and never changes it, so a recording is true --------
#ifndef PUFFER_DEVICE
void c_render(Breakout* env) {
    const Color night = {16, 24, 32, 255}, field = {24, 36, 46, 255};
    const Color gold = {255, 190, 60, 255}, teal = {0, 205, 190, 255};
    const Color bricks[] = {{235, 70, 80, 255}, {255, 140, 70, 255}, {110, 150, 235, 255}};
    const int width = (int)env->width, hud = 40;
    if (!IsWindowReady()) {
        InitWindow(width, hud + (int)env->height, "breakout");
        SetTargetFPS(env->frameskip > 0 ? 60 / env->frameskip : 60);    // as fast as it is
    }

    BeginDrawing();
    ClearBackground(night);
    DrawRectangle(0, hud, width, (int)env->height, field);
    for (int row = 0; row < env->brick_rows; row++) {
        for (int col = 0; col < env->brick_cols; col++) {
            if (env->bricks[row * env->brick_cols + col] == 1.0f) {
                DrawRectangle((int)((float)col * env->brick_width) + 1,
                              hud + (int)(BRICKS_TOP + (float)row * env->brick_height) + 1,
                              (int)env->brick_width - 2, (int)env->brick_height - 2,
                              bricks[row < 4 ? row / 2 : 2]);
            }
        }
    }
    Rectangle paddle = {env->paddle_x, (float)hud + env->paddle_y, env->paddle,
                        env->paddle_height};
    Rectangle ball = {env->ball_x, (float)hud + env->ball_y, env->ball_width, env->ball_height};
    DrawRectangleRounded(paddle, 0.8f, 6, teal);
    DrawRectangleRounded(ball, 0.5f, 8, gold);          // a box, because it strikes as a box
    DrawText(TextFormat("%d of %d points", env->score, env->max_score), 12, 10, 20, RAYWHITE);
    for (int spare = 1; spare < env->balls; spare++) {  // those that are not in play
        Rectangle dot = {(float)(width - 24 * spare - 4), 13.0f, 14.0f, 14.0f};
        DrawRectangleRounded(dot, 0.5f, 6, gold);
    }
    EndDrawing();
}
#endif
