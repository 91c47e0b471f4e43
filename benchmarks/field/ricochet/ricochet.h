// Ricochet: a bat, a ball and a wall of bricks, in the manner of the arcade.
//
// The bat slides along the bottom, the ball breaks bricks at the top. Every touch of the bat makes
// the ball a little faster until top_speed; where it lands on the bat decides the way it leaves. The
// upper row of bricks has to be hit twice. The game is over when the lives are spent, the wall is
// down, or the clock (in frames, and shown to the player) has run out.
//
// One c_step is `frameskip` frames with the same action. The reward is the sum over them.

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define NOOP 0
#define LEFT 1
#define RIGHT 2

#define ROWS 4
#define COLS 8
#define BRICKS (ROWS*COLS)
#define SCALARS 9                   // the observation: these, and then one number per brick
#define NUM_OBS (SCALARS + BRICKS)

#define WALL_TOP 24.0f              // pixels above the upper row
#define BRICK_HEIGHT 12.0f
#define BALL_RADIUS 3.0f
#define BAT_RISE 16.0f              // the upper side of the bat, above the bottom of the field
#define BAT_THICKNESS 6.0f
#define STEEPEST 0.9f               // share of the speed that goes sideways at the end of the bat
#define SERVE_WAIT 16               // frames in which the ball hangs before it drops
#define FASTEST 12.0f               // top_speed can not be more: a brick could be jumped over

#define POINT 0.1f                  // reward per point
#define LIFE_COST 0.5f

typedef struct Log {
    float perf;                     // share of the bricks that were broken
    float score;                    // points
    float episode_return;
    float episode_length;           // steps, not frames
    float bat_hits;
    float n;
} Log;

typedef struct Client {
    int width, height;              // of the window
} Client;

typedef struct Ricochet {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Client* client;

    // settings
    int frameskip;
    int width, height;
    int lives;
    int max_frames;
    float paddle_width;
    float paddle_speed;
    float ball_speed;
    float speedup;
    float top_speed;

    // the game
    int* bricks;                    // hits that each still takes
    int* points;                    // what each is worth; fixed
    float paddle_x;                 // its middle
    float paddle_dir;
    float ball_x, ball_y;
    float ball_vx, ball_vy;
    float speed;
    int wait;
    int balls;                      // lives left, with the one in play
    int frame;
    int broken;

    // sums of this episode, for the log
    int steps;
    int bat_hits;
    float score;
    float episode_return;
} Ricochet;

static inline float limit(float value, float low, float high) {
    return value < low ? low : value > high ? high : value;
}

// In [-1, 1]
static inline float random_side(unsigned int* rng) {
    return 2.0f*((float)rand_r(rng)/(float)RAND_MAX) - 1.0f;
}

static inline int strength(int row) {
    return row == 0 ? 2 : 1;
}

void init(Ricochet* env) {
    env->bricks = (int*)calloc(BRICKS, sizeof(int));
    env->points = (int*)calloc(BRICKS, sizeof(int));
    for (int i = 0; i < BRICKS; i++) {
        env->points[i] = ROWS - i/COLS;
    }
}

// For a program of its own. In training the four arrays belong to the trainer
void allocate(Ricochet* env) {
    env->num_agents = 1;
    init(env);
    env->observations = (float*)calloc(NUM_OBS, sizeof(float));
    env->actions = (float*)calloc(1, sizeof(float));
    env->rewards = (float*)calloc(1, sizeof(float));
    env->terminals = (float*)calloc(1, sizeof(float));
}

void c_close(Ricochet* env) {
    free(env->bricks);
    free(env->points);
    if (env->client != NULL) {
        CloseWindow();
        free(env->client);
    }
}

void free_allocated(Ricochet* env) {
    free(env->observations);
    free(env->actions);
    free(env->rewards);
    free(env->terminals);
    c_close(env);
}

void compute_observations(Ricochet* env) {
    float* obs = env->observations;
    obs[0] = env->paddle_x/env->width;
    obs[1] = env->paddle_dir;
    obs[2] = env->ball_x/env->width;
    obs[3] = env->ball_y/env->height;
    obs[4] = env->ball_vx/FASTEST;
    obs[5] = env->ball_vy/FASTEST;
    obs[6] = env->speed/FASTEST;
    obs[7] = (float)env->balls/env->lives;
    obs[8] = (float)env->frame/env->max_frames;
    for (int i = 0; i < BRICKS; i++) {
        obs[SCALARS + i] = (float)env->bricks[i]/2.0f;
    }
}

void add_log(Ricochet* env) {
    env->log.perf += (float)env->broken/BRICKS;
    env->log.score += env->score;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += env->steps;
    env->log.bat_hits += env->bat_hits;
    env->log.n += 1.0f;
}

// The ball hangs in the middle of the field, and is slow again
static void serve(Ricochet* env) {
    env->speed = env->ball_speed;
    env->ball_x = env->width/2.0f;
    env->ball_y = env->height/2.0f;
    env->ball_vx = 0.0f;
    env->ball_vy = 0.0f;
    env->wait = SERVE_WAIT;
}

// Down, at an angle that nobody knows before
static void drop(Ricochet* env) {
    float side = 0.7f*random_side(&env->rng);
    env->ball_vx = env->speed*side;
    env->ball_vy = env->speed*sqrtf(1.0f - side*side);
}

void c_reset(Ricochet* env) {
    for (int i = 0; i < BRICKS; i++) {
        env->bricks[i] = strength(i/COLS);
    }
    env->paddle_x = env->width/2.0f;
    env->paddle_dir = 0.0f;
    env->balls = env->lives;
    env->frame = 0;
    env->broken = 0;
    env->steps = 0;
    env->bat_hits = 0;
    env->score = 0.0f;
    env->episode_return = 0.0f;
    serve(env);
    compute_observations(env);
}

// The brick at a point, or -1 where there is none (any more)
static int brick_at(Ricochet* env, float x, float y) {
    int row = (int)floorf((y - WALL_TOP)/BRICK_HEIGHT);
    int col = (int)floorf(x*COLS/env->width);
    if (row < 0 || row >= ROWS || col < 0 || col >= COLS) {
        return -1;
    }
    int i = row*COLS + col;
    return env->bricks[i] > 0 ? i : -1;
}

// Returns the reward for it
static float hit_brick(Ricochet* env, int i) {
    env->bricks[i] -= 1;
    if (env->bricks[i] > 0) return 0.0f;
    env->broken += 1;
    env->score += env->points[i];
    return POINT*env->points[i];
}

static void hit_bat(Ricochet* env, float reach) {
    float offset = limit((env->ball_x - env->paddle_x)/reach, -1.0f, 1.0f);
    env->bat_hits += 1;
    env->speed = fminf(env->speed + env->speedup, env->top_speed);
    env->ball_vx = STEEPEST*offset*env->speed;
    env->ball_vy = -sqrtf(env->speed*env->speed - env->ball_vx*env->ball_vx);
    env->ball_y = env->height - BAT_RISE - BALL_RADIUS;
}

// The ball, one axis after the other. What blocks the way sends it back
static float move_ball(Ricochet* env) {
    float reward = 0.0f;
    float x = env->ball_x + env->ball_vx;
    int brick = brick_at(env, x + copysignf(BALL_RADIUS, env->ball_vx), env->ball_y);
    if (brick >= 0) {
        reward += hit_brick(env, brick);
        env->ball_vx = -env->ball_vx;
    } else {
        env->ball_x = limit(x, BALL_RADIUS, env->width - BALL_RADIUS);
        if (env->ball_x != x) env->ball_vx = -env->ball_vx;
    }

    float before = env->ball_y;
    float y = env->ball_y + env->ball_vy;
    brick = brick_at(env, env->ball_x, y + copysignf(BALL_RADIUS, env->ball_vy));
    if (brick >= 0) {
        reward += hit_brick(env, brick);
        env->ball_vy = -env->ball_vy;
    } else if (y < BALL_RADIUS) {
        env->ball_y = BALL_RADIUS;
        env->ball_vy = -env->ball_vy;
    } else {
        env->ball_y = y;
    }

    float bat_y = env->height - BAT_RISE - BALL_RADIUS;     // the ball's middle, as it touches
    float half = env->paddle_width/2.0f;
    if (env->ball_vy > 0.0f && before <= bat_y && env->ball_y > bat_y
            && fabsf(env->ball_x - env->paddle_x) <= half + BALL_RADIUS) {
        hit_bat(env, half);
    }
    return reward;
}

static float play_frame(Ricochet* env, int action) {
    float half = env->paddle_width/2.0f;
    float before = env->paddle_x;
    if (action == LEFT) {
        env->paddle_x -= env->paddle_speed;
    } else if (action == RIGHT) {
        env->paddle_x += env->paddle_speed;
    }
    env->paddle_x = limit(env->paddle_x, half, env->width - half);
    env->paddle_dir = (env->paddle_x > before) - (env->paddle_x < before);
    env->frame += 1;

    if (env->wait > 0) {
        env->wait -= 1;
        if (env->wait == 0) {
            drop(env);
        }
        return 0.0f;
    }

    float reward = move_ball(env);
    if (env->ball_y - BALL_RADIUS > env->height) {
        reward -= LIFE_COST;
        env->balls -= 1;
        serve(env);
    }
    return reward;
}

void c_step(Ricochet* env) {
    int action = (int)env->actions[0];
    float reward = 0.0f;
    bool over = false;
    for (int i = 0; i < env->frameskip && !over; i++) {
        float gain = play_frame(env, action);
        reward += gain;
        over = env->balls == 0 || env->broken == BRICKS || env->frame >= env->max_frames;
    }
    env->steps += 1;
    env->episode_return += reward;
    env->rewards[0] = reward;
    env->terminals[0] = over ? 1.0f : 0.0f;
    if (over) {
        add_log(env);
        c_reset(env);
        return;
    }
    compute_observations(env);
}

Client* make_client(Ricochet* env) {
    Client* client = (Client*)calloc(1, sizeof(Client));
    client->width = 3*env->width;
    client->height = 3*env->height;
    InitWindow(client->width, client->height, "Ricochet");
    SetTargetFPS(60/env->frameskip);
    return client;
}

void c_render(Ricochet* env) {
    if (env->client == NULL) {
        env->client = make_client(env);
    }
    Client* client = env->client;
    const Color paint[ROWS] = {RED, ORANGE, YELLOW, GREEN};
    const float s = 3.0f, brick_width = (float)env->width/COLS;

    BeginDrawing();
    ClearBackground((Color){8, 12, 28, 255});
    for (int i = 0; i < BRICKS; i++) {
        if (env->bricks[i] == 0) continue;
        Color color = paint[i/COLS];
        if (env->bricks[i] < strength(i/COLS)) {
            color.a = 140;                                  // cracked
        }
        DrawRectangle((int)(s*(i%COLS)*brick_width) + 1,
            (int)(s*(WALL_TOP + (i/COLS)*BRICK_HEIGHT)) + 1,
            (int)(s*brick_width) - 2, (int)(s*BRICK_HEIGHT) - 2, color);
    }
    DrawRectangle((int)(s*(env->paddle_x - env->paddle_width/2.0f)),
        (int)(s*(env->height - BAT_RISE)), (int)(s*env->paddle_width),
        (int)(s*BAT_THICKNESS), RAYWHITE);
    DrawCircle((int)(s*env->ball_x), (int)(s*env->ball_y), s*BALL_RADIUS, SKYBLUE);
    DrawText(TextFormat("%.0f points", env->score), 10, 10, 20, RAYWHITE);
    DrawText(TextFormat("%d balls", env->balls), client->width - 100, 10, 20, RAYWHITE);
    EndDrawing();
}
