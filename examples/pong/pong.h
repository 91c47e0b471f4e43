/* pong.h -- table tennis against a paddle that follows the ball.  One agent, three actions.
 *
 *      +------------------------------------+
 *      |                                    |
 *    ||               (o)                   |     ||  the opponent, on the left: a script
 *    ||                                     ||    ||  the agent, on the right
 *      |                                    ||
 *      |                                    |    (o)  the ball
 *      +------------------------------------+
 *
 * Who lets the ball pass loses the point; first to 21 wins the game. The opponent runs after
 * the ball as fast as the agent can, and returns it as it came. The agent can do more: when
 * its paddle moves while it strikes, the ball goes off steeper, at last faster than the
 * opponent runs. So waiting for mistakes wins nothing, and slicing every ball wins all.
 *
 * The score is points won less points lost, at most 21; 20 counts as solved. Sizes, speeds
 * and points are those of PufferLib's Pong, but for the steeper serve, so that scores compare.
 *
 * Read top to bottom: what the agent sees and does, the rules, the state, then c_reset
 * and c_step. Whatever you change, `puffer-sdk check` tells you what it broke.
 *
 * Units: length in pixels, y downward; time in frames, 60 a second; speed in pixels a frame.
 * The agent acts once in `frameskip` frames, and that is a tick.
 */
#pragma once

#include <math.h>               // fabsf, fminf, fmaxf
#include <stdbool.h>
#include <stdint.h>             // uint64_t
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what the agent sees and does --------------------------------------
enum {                          // observations, one float each
    OBS_OPPONENT_Y,             // [ 0, 1]  between the ends of its way
    OBS_AGENT_Y,                // [ 0, 1]
    OBS_BALL_X,                 // [ 0, 1]  its left side, share of the width
    OBS_BALL_Y,                 // [ 0, 1]  its top, share of the height
    OBS_BALL_VX,                // [-1, 1]  -1 or 1: it goes left or right, always as fast
    OBS_BALL_VY,                // [-1, 1]  share of the greatest speed
    OBS_OPPONENT_SCORE,         // [ 0, 1]  points, share of those that win
    OBS_AGENT_SCORE,            // [ 0, 1]
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

enum {                          // actions, pick one
    ACT_STAY,
    ACT_UP,
    ACT_DOWN,
    ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT}

//-- Rules: those that are no settings --------------------------------------------
// Measured: acting at random scores -21.0, staying put -21.0, and a pilot that slices every
// ball 21.0, in 820 ticks; of the points, random play wins 1 in 3000
// (measured again by tests/test_examples_arcade.py, which fails if they are wrong)
#define SERVE_X      0.2f       // a point begins here, share of the width, towards the agent
#define LEVEL        0.01f      // a ball less steep than this could go on for ever
#define MAX_TICKS    5000       // six times what the pilot needs: stops endless rallies

//-- State: one table -------------------------------------------------------------
typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  share of the points won: the headline number
    float score;                // [-21, 21] points won less points lost
    float episode_return;       // here the same: what the trainer maximises
    float episode_length;       // ticks
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct Pong {
    // Shared with the trainer, which owns the arrays: fill them, never free them
    Log log;
    float* observations;        // out [OBS_SIZE]
    float* actions;             // in  [1]  an ACT_ value, stored as a float
    float* rewards;             // out [1]
    float* terminals;           // out [1]  1 on the step that ended an episode, else 0
    float* truncations;         // out [1]  1 where MAX_TICKS did, not the game; else 0
    int num_agents;             // rows of those arrays that are ours; set before init
    unsigned int rng;           // this copy's seed, then its generator state

    // Settings, from [env] in pong.ini: matched by name, set before init
    int frameskip;
    float width, height;
    float paddle_height, paddle_speed;
    float ball_width, ball_height;
    float ball_initial_speed_x; // and for ever after: only the other one changes
    float ball_initial_speed_y;
    float ball_speed_y_increment, ball_max_speed_y;
    int max_score;

    // Private to this file. Settings aside, c_reset sets all of it: a field that it
    // forgets would carry one episode into the next
    float opponent_y, agent_y;  // upper ends; half a paddle may leave the table
    float ball_x, ball_y;       // upper left corner: the ball is a box
    float ball_vx, ball_vy;
    int opponent_score, agent_score;
    int tick;                   // steps of this episode
} Pong;

// Uniform in [0, limit). The state lives in the env, not in rand(), so that an episode
// depends only on its seed and copies can step on any thread. Seed 0 is as good as any:
// the counter walks through all 2^32 states, the mixing makes neighbours look unrelated
static inline float random_below(unsigned int* rng, float limit) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return limit * ((float)(bits >> 8) / 16777216.0f);      // 2^24
}

static inline float clamp(float value, float low, float high) {
    return fminf(fmaxf(value, low), high);
}

// A paddle's next place; its middle stays on the table
static inline float move_paddle(const Pong* env, float y, float step) {
    float half = 0.5f * env->paddle_height;
    return clamp(y + step, -half, env->height - half);
}

// Writes every element: nobody clears observations between steps
static inline void observe(Pong* env) {
    const float half = 0.5f * env->paddle_height, points = (float)env->max_score;
    float* obs = env->observations;
    obs[OBS_OPPONENT_Y] = (env->opponent_y + half) / env->height;
    obs[OBS_AGENT_Y] = (env->agent_y + half) / env->height;
    obs[OBS_BALL_X] = env->ball_x / env->width;
    obs[OBS_BALL_Y] = env->ball_y / env->height;
    obs[OBS_BALL_VX] = env->ball_vx / env->ball_initial_speed_x;
    obs[OBS_BALL_VY] = env->ball_vy / env->ball_max_speed_y;
    obs[OBS_OPPONENT_SCORE] = (float)env->opponent_score / points;
    obs[OBS_AGENT_SCORE] = (float)env->agent_score / points;
}

//-- Functions: init, c_close, then the two that matter ---------------------------
// Runs once, when the settings are known: the place to allocate. This game needs nothing
void init(Pong* env) {
    (void)env;
}

// Runs last. Free what this file allocated: nothing. The trainer's arrays are not ours to free
void c_close(Pong* env) {
    (void)env;
}

// Begin a point: the opponent serves, at any height, up or down. The slower the serve, the
// more slices a point takes: at 1, as in PufferLib, play at random all but never wins one
static inline void serve(Pong* env) {
    env->opponent_y = env->agent_y = 0.5f * (env->height - env->paddle_height);
    env->ball_x = SERVE_X * env->width;
    env->ball_y = random_below(&env->rng, env->height - env->ball_height);
    env->ball_vx = env->ball_initial_speed_x;
    bool up = random_below(&env->rng, 2.0f) < 1.0f;
    env->ball_vy = up ? -env->ball_initial_speed_y : env->ball_initial_speed_y;
}

// Begin an episode. Leaves rewards and terminals alone: when c_step calls this, they
// still describe the step that just ended
void c_reset(Pong* env) {
    env->opponent_score = 0;
    env->agent_score = 0;
    env->tick = 0;
    serve(env);
    observe(env);
}

static inline bool is_in_reach(const Pong* env, float paddle_y) {
    return env->ball_y + env->ball_height > paddle_y
        && env->ball_y < paddle_y + env->paddle_height;
}

// The agent's paddle, going up (-1), down (1) or nowhere, strikes the ball
static inline void slice(Pong* env, float direction) {
    float steeper = env->ball_vy + direction * env->ball_speed_y_increment;
    env->ball_vy = clamp(steeper, -env->ball_max_speed_y, env->ball_max_speed_y);
    if (fabsf(env->ball_vy) < LEVEL) {
        env->ball_vy = env->ball_speed_y_increment;
    }
}

// Advance one frame: both paddles, then the ball. Returns who wins a point by it: 1 the
// agent, -1 the opponent, 0 nobody yet
static inline int advance(Pong* env, float direction) {
    const float right = env->width - env->ball_width, bottom = env->height - env->ball_height;
    float ball_middle = env->ball_y + 0.5f * env->ball_height;
    float behind = ball_middle - (env->opponent_y + 0.5f * env->paddle_height);
    float run = clamp(behind, -env->paddle_speed, env->paddle_speed);
    env->opponent_y = move_paddle(env, env->opponent_y, run);
    env->agent_y = move_paddle(env, env->agent_y, direction * env->paddle_speed);

    env->ball_x += env->ball_vx;
    env->ball_y += env->ball_vy;
    if (env->ball_y < 0.0f || env->ball_y > bottom) {
        // Mirrored, not stopped: where the ball will be is a fold of a straight line
        env->ball_y = env->ball_y < 0.0f ? -env->ball_y : 2.0f * bottom - env->ball_y;
        env->ball_vy = -env->ball_vy;
    }
    if (env->ball_x < 0.0f) {
        if (!is_in_reach(env, env->opponent_y)) {
            return 1;
        }
        env->ball_x = 0.0f;
        env->ball_vx = env->ball_initial_speed_x;
    } else if (env->ball_x > right) {
        if (!is_in_reach(env, env->agent_y)) {
            return -1;
        }
        env->ball_x = right;
        env->ball_vx = -env->ball_initial_speed_x;
        slice(env, direction);
    }
    return 0;
}

// Advance one tick: frames, until all are over, or a point is
void c_step(Pong* env) {
    int action = (int)env->actions[0];
    float direction = (float)((action == ACT_DOWN) - (action == ACT_UP));
    int won = 0;
    for (int frame = 0; frame < env->frameskip && won == 0; frame++) {
        won = advance(env, direction);
    }
    env->agent_score += won > 0 ? 1 : 0;
    env->opponent_score += won < 0 ? 1 : 0;
    env->tick += 1;

    // An endless rally is a truncation: the agent cannot see the clock, and the trainer adds
    // what might have followed. What the game itself ends is none
    bool over = env->agent_score >= env->max_score || env->opponent_score >= env->max_score;
    bool late = !over && env->tick >= MAX_TICKS;
    // Write all three on every step: the arrays may hold anything
    env->rewards[0] = (float)won;
    env->terminals[0] = over || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (!over && !late) {
        if (won != 0) {
            serve(env);
        }
        observe(env);
        return;
    }

    float score = (float)(env->agent_score - env->opponent_score);
    float points = (float)(env->agent_score + env->opponent_score);
    env->log.perf += points > 0.0f ? (float)env->agent_score / points : 0.0f;
    env->log.score += score;
    env->log.episode_return += score;       // every point was paid as it was won or lost
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
    c_reset(env);               // the next observation opens the next episode
}

//-- Drawing: reads the state and never changes it, so a recording is true --------
#ifndef PUFFER_DEVICE
void c_render(Pong* env) {
    const Color night = {16, 24, 32, 255}, table = {24, 36, 46, 255}, line = {52, 70, 84, 255};
    const Color gold = {255, 190, 60, 255}, teal = {0, 205, 190, 255}, red = {235, 70, 80, 255};
    // The paddles stand outside of the table: the ball turns at its edge
    const int paddle = 20, width = (int)env->width, height = (int)env->height;
    if (!IsWindowReady()) {
        InitWindow(width + 2 * paddle, height, "pong");
        SetTargetFPS(env->frameskip > 0 ? 60 / env->frameskip : 60);    // as fast as it is
    }

    BeginDrawing();
    ClearBackground(night);
    DrawRectangle(paddle, 0, width, height, table);
    for (int y = 8; y < height; y += 32) {
        DrawRectangle(paddle + width / 2 - 2, y, 4, 16, line);
    }
    const char* lost = TextFormat("%d", env->opponent_score);
    DrawText(lost, paddle + width / 2 - 32 - MeasureText(lost, 60), 20, 60, red);
    DrawText(TextFormat("%d", env->agent_score), paddle + width / 2 + 32, 20, 60, teal);
    DrawRectangle(0, (int)env->opponent_y, paddle, (int)env->paddle_height, red);
    DrawRectangle(paddle + width, (int)env->agent_y, paddle, (int)env->paddle_height, teal);
    Rectangle ball = {(float)paddle + env->ball_x, env->ball_y, env->ball_width,
                      env->ball_height};
    DrawRectangleRounded(ball, 0.5f, 8, gold);          // a box, because it strikes as a box
    EndDrawing();
}
#endif
