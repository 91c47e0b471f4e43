// Marble: a marble on a plate without a rim. Two motors tilt the plate, and the marble rolls after
// gems, one after the other, around three pits. Coming nearer to the gem pays a little, a gem pays
// `gem_reward`, and the game is lost in a pit or over the edge. With `goal` gems it is won.
//
// The marble rolls at 60 frames a second. The agent acts once in `frame_skip` frames, and what the
// frames pay is summed into one reward; the frames stop where the game ends.
//
// Lengths are in mm from the middle of the plate, times in seconds.
#pragma once

#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "raylib.h"

#define HALF 250.0f            // half the length of the plate
#define FRAME (1.0f / 60.0f)
#define MOTOR 4.0f             // how fast the tilt follows, share per second
#define MAX_SPEED 900.0f
#define PITS 3
#define GEM_RADIUS 25.0f
#define TRAIL 64               // places that c_render draws
#define PI_F 3.14159265f

enum {
    OBS_X,                     // [-1, 1]  the marble
    OBS_Y,                     // [-1, 1]
    OBS_VX,                    // [-1, 1]
    OBS_VY,                    // [-1, 1]
    OBS_TILT_X,                // [-1, 1]  the plate
    OBS_TILT_Y,                // [-1, 1]
    OBS_GEM_X,                 // [-1, 1]  the gem, seen from the marble
    OBS_GEM_Y,                 // [-1, 1]
    OBS_DISTANCE,              // [0, 1]   to the gem
    OBS_HEADING,               // [0, 1]   angle between the way to the gem and the motion, 1 = back
    OBS_SPEED,                 // [0, 1]
    OBS_PITS,                  // [-1, 1]  x and y of each pit, seen from the marble
    OBS_CLOCK = OBS_PITS + 2 * PITS,   // [0, 1]   share of the time that is left
    OBS_GEMS,                  // [0, 1]   share of the goal
    OBS_COUNT
};

// Required struct. Only use floats!
typedef struct {
    float perf;                // share of the goal
    float score;               // gems
    float episode_return;
    float episode_length;      // actions
    float pits;                // ended in a pit
    float rims;                // ended over the edge
    float n;                   // Required as the last field
} Log;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    // settings
    int frame_skip;
    int limit;
    int goal;
    float pit_radius;
    float gravity;
    float drag;
    float gem_reward;
    float fall_penalty;
    float progress_reward;

    float x, y;
    float vx, vy;
    float tilt_x, tilt_y;
    float gem_x, gem_y;
    float pit_x[PITS];
    float pit_y[PITS];
    int gems;
    int tick;
    float ret;

    float* trail;              // the last TRAIL places of the marble, a ring
    int trail_end;
} Marble;

void init(Marble* env) {
    env->trail = (float*)calloc(2 * TRAIL, sizeof(float));
}

void c_close(Marble* env) {
    free(env->trail);
}

static float uniform(Marble* env, float low, float high) {
    float u = (float)(rand_r(&env->rng) % 1000003) / 1000003.0f;
    return low + (high - low) * u;
}

static float clampf(float v, float low, float high) {
    return fminf(fmaxf(v, low), high);
}

static float gem_distance(Marble* env) {
    float dx = env->gem_x - env->x;
    float dy = env->gem_y - env->y;
    return sqrtf(dx * dx + dy * dy);
}

// How far a place is from the middle of the nearest pit
static float pit_distance(Marble* env, float x, float y) {
    float nearest = 4.0f * HALF;
    for (int i = 0; i < PITS; i++) {
        float dx = env->pit_x[i] - x;
        float dy = env->pit_y[i] - y;
        nearest = fminf(nearest, sqrtf(dx * dx + dy * dy));
    }
    return nearest;
}

static void compute_observations(Marble* env) {
    float* obs = env->observations;
    float dx = env->gem_x - env->x;
    float dy = env->gem_y - env->y;
    float distance = gem_distance(env);
    float speed = sqrtf(env->vx * env->vx + env->vy * env->vy);
    float heading = 0.5f;
    if (speed > 0.0f && distance > 0.0f) {
        float cosine = (dx * env->vx + dy * env->vy) / (distance * speed);
        heading = acosf(clampf(cosine, -1.0f, 1.0f)) / PI_F;
    }
    obs[OBS_X] = env->x / HALF;
    obs[OBS_Y] = env->y / HALF;
    obs[OBS_VX] = env->vx / MAX_SPEED;
    obs[OBS_VY] = env->vy / MAX_SPEED;
    obs[OBS_TILT_X] = env->tilt_x;
    obs[OBS_TILT_Y] = env->tilt_y;
    obs[OBS_GEM_X] = dx / (2.0f * HALF);
    obs[OBS_GEM_Y] = dy / (2.0f * HALF);
    obs[OBS_DISTANCE] = distance / (3.0f * HALF);
    obs[OBS_HEADING] = heading;
    obs[OBS_SPEED] = speed / (1.5f * MAX_SPEED);
    for (int i = 0; i < PITS; i++) {
        obs[OBS_PITS + 2 * i] = (env->pit_x[i] - env->x) / (2.0f * HALF);
        obs[OBS_PITS + 2 * i + 1] = (env->pit_y[i] - env->y) / (2.0f * HALF);
    }
    obs[OBS_CLOCK] = 1.0f - (float)env->tick / env->limit;
    obs[OBS_GEMS] = (float)env->gems / env->goal;
}

// Anywhere but in a pit, near the edge, or where the marble is
static void place_gem(Marble* env) {
    do {
        env->gem_x = uniform(env, -0.85f * HALF, 0.85f * HALF);
        env->gem_y = uniform(env, -0.85f * HALF, 0.85f * HALF);
    } while (pit_distance(env, env->gem_x, env->gem_y) < env->pit_radius + 10.0f
        || gem_distance(env) < 2.0f * GEM_RADIUS);
}

void c_reset(Marble* env) {
    // One pit in each of three sectors, so that the middle is free for the start
    for (int i = 0; i < PITS; i++) {
        float angle = 2.0f * PI_F * (i + uniform(env, 0.1f, 0.9f)) / PITS;
        float radius = uniform(env, 0.4f * HALF, 0.8f * HALF);
        env->pit_x[i] = radius * cosf(angle);
        env->pit_y[i] = radius * sinf(angle);
    }
    env->x = uniform(env, -30.0f, 30.0f);
    env->y = uniform(env, -30.0f, 30.0f);
    env->vx = 0.0f;
    env->vy = 0.0f;
    env->tilt_x = 0.0f;
    env->tilt_y = 0.0f;
    env->gems = 0;
    env->tick = 0;
    env->ret = 0.0f;
    env->trail_end = 0;
    memset(env->trail, 0, 2 * TRAIL * sizeof(float));
    place_gem(env);
    compute_observations(env);
}

static void roll(Marble* env, float pull_x, float pull_y) {
    env->tilt_x += (pull_x - env->tilt_x) * MOTOR * FRAME;
    env->tilt_y += (pull_y - env->tilt_y) * MOTOR * FRAME;
    env->vx += (env->gravity * env->tilt_x - env->drag * env->vx) * FRAME;
    env->vy += (env->gravity * env->tilt_y - env->drag * env->vy) * FRAME;
    env->vx = clampf(env->vx, -MAX_SPEED, MAX_SPEED);
    env->vy = clampf(env->vy, -MAX_SPEED, MAX_SPEED);
    env->x += env->vx * FRAME;
    env->y += env->vy * FRAME;
    env->trail[2 * env->trail_end] = env->x;
    env->trail[2 * env->trail_end + 1] = env->y;
    env->trail_end++;
    if (env->trail_end >= TRAIL) env->trail_end = 0;
}

static void add_log(Marble* env, int in_pit, int over_rim) {
    env->log.perf += (float)env->gems / env->goal;
    env->log.score += env->gems;
    env->log.episode_return += env->ret;
    env->log.episode_length += env->tick;
    env->log.pits += in_pit;
    env->log.rims += over_rim;
    env->log.n += 1.0f;
}

void c_step(Marble* env) {
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    env->tick++;

    float pull_x = clampf(env->actions[0], -1.0f, 1.0f);
    float pull_y = clampf(env->actions[1], -1.0f, 1.0f);
    int in_pit = 0;
    int over_rim = 0;
    for (int frame = 0; frame < env->frame_skip; frame++) {
        float before = gem_distance(env);
        roll(env, pull_x, pull_y);
        over_rim = fabsf(env->x) > HALF || fabsf(env->y) > HALF;
        in_pit = !over_rim && pit_distance(env, env->x, env->y) < env->pit_radius;
        if (over_rim || in_pit) {
            env->rewards[0] -= env->fall_penalty;
            break;
        }
        env->rewards[0] += env->progress_reward * (before - gem_distance(env)) / HALF;
        if (gem_distance(env) < GEM_RADIUS) {
            env->rewards[0] += env->gem_reward;
            env->gems++;
            if (env->gems >= env->goal) break;
            place_gem(env);
        }
    }
    env->ret += env->rewards[0];

    if (in_pit || over_rim || env->gems >= env->goal || env->tick >= env->limit) {
        env->terminals[0] = 1.0f;
        add_log(env, in_pit, over_rim);
        c_reset(env);
        return;
    }
    compute_observations(env);
}

void c_render(Marble* env) {
    const float zoom = 1.5f;
    const int size = (int)(2.0f * HALF * zoom);
    if (!IsWindowReady()) {
        InitWindow(size, size, "PufferLib Marble");
        SetTargetFPS(15);
    }
    if (IsKeyDown(KEY_ESCAPE)) {
        exit(0);
    }

    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    for (int i = 0; i < PITS; i++) {
        DrawCircle((int)((env->pit_x[i] + HALF) * zoom), (int)((env->pit_y[i] + HALF) * zoom),
            env->pit_radius * zoom, BLACK);
    }
    for (int i = 0; i < TRAIL; i++) {
        DrawCircle((int)((env->trail[2 * i] + HALF) * zoom), (int)((env->trail[2 * i + 1] + HALF) * zoom),
            2, DARKGRAY);
    }
    DrawCircle((int)((env->gem_x + HALF) * zoom), (int)((env->gem_y + HALF) * zoom), 12, GREEN);
    DrawCircle((int)((env->x + HALF) * zoom), (int)((env->y + HALF) * zoom), 15, SKYBLUE);
    DrawText(TextFormat("gems: %d", env->gems), 8, 8, 20, RAYWHITE);
    EndDrawing();
}
